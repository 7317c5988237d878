import { type FileInput, type FilePath, type KindOfPath, kindOfPath } from "../file.ts";
import type { UploadHandle } from "../handle.ts";
import { uploadHandle } from "../handle-value.ts";
import type { MediaKind } from "../media.ts";
import type { Recorder } from "../recorder.ts";
import { OptionReader, type StepOptions } from "./options.ts";

/** What can be uploaded: a {@link FileInput} (`{ path, kind }`), or a path whose ending says its kind. */
export type Uploadable = FileInput | string;

export type KindOfUpload<F extends Uploadable> =
  F extends FileInput<infer K> ? K : F extends string ? KindOfPath<F> : "unknown";

/** Adds a local file that is sent to the service, free of charge. */
export type UploadWord = <const F extends Uploadable>(
  name: string,
  file: F,
  options?: StepOptions,
) => UploadHandle<KindOfUpload<F>>;

export function uploadWord(recorder: Recorder): UploadWord {
  return <const F extends Uploadable>(name: string, given: F, options?: StepOptions) => {
    const step = recorder.path(name);
    const read = new OptionReader(options, step, recorder);
    read.only("an upload", []);
    const { file, media } = readUpload(given);
    if (file === "") recorder.report(noFile(step));
    recorder.add({ kind: "upload", path: step, file, media, after: read.after(), when: read.when() });
    return uploadHandle(step, media ?? "unknown", { file, build: recorder.build }) as UploadHandle<KindOfUpload<F>>;
  };
}

function readUpload(given: Uploadable): { readonly file: string; readonly media: MediaKind | null } {
  const path = typeof given === "string" ? given : (given satisfies FilePath)?.path;
  const file = typeof path === "string" ? path : "";
  const media = typeof given === "string" ? null : (given?.kind ?? null);
  return { file, media: media ?? kindOfPath(file) };
}

function noFile(step: string) {
  const message = "upload takes a path, or { path, kind } as a file() field of the pipeline's input gives it";
  return { code: "missing-file", step, field: "file", message };
}
