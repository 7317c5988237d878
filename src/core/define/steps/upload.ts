import { hash } from "node:crypto";
import { withoutQuery } from "../../plan/kinds/upload.ts";
import type { MediaKind } from "../../plan/plan.ts";
import { type FileInput, type KindOfPath, kindOfPath } from "../file.ts";
import type { UploadHandle } from "../handle.ts";
import { uploadHandle } from "../handle.ts";
import type { Recorder } from "../recorder.ts";
import { OptionReader, type StepOptions } from "./options.ts";

/** The bytes of a media file, such as an image that the program has just drawn. */
export interface BytesInput<K extends MediaKind = MediaKind> {
  readonly bytes: Uint8Array;
  readonly kind: K;
}

/**
 * The values that can be uploaded: a path whose extension shows its kind, a {@link FileInput} (`{ path, kind }`),
 * bytes, or an `http` or `https` URL. This machine fetches the URL when the plan is made.
 */
export type Uploadable = FileInput | BytesInput | Uint8Array | URL | string;

export type KindOfUpload<F extends Uploadable> = F extends { readonly kind: infer K extends MediaKind }
  ? K
  : F extends string
    ? KindOfPath<F>
    : "unknown";

export interface UploadOptions extends StepOptions {
  /**
   * An origin on your own network or on this machine that the URL may use, such as `http://assets.corp:8080`. Default:
   * none, so the URL must lead to the public internet.
   */
  readonly inside?: string | undefined;
}

export interface UploadMethod {
  /**
   * Adds a file to send to the service, free of charge. The file is a path, a `{ path, kind }` from a `file()` field of
   * the input, bytes, or a URL that this machine fetches. The handle fits wherever an input accepts media of its kind.
   */
  <const F extends Uploadable>(name: string, file: F, options?: UploadOptions): UploadHandle<KindOfUpload<F>>;
}

export function uploadMethod(recorder: Recorder): UploadMethod {
  return <const F extends Uploadable>(name: string, given: F, options?: UploadOptions) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("an upload", ["inside"]);
    const { file, bytes, media } = readUpload(given);
    if (file === "") recorder.report(noFile(path));
    recorder.add({
      kind: "upload",
      path,
      file,
      bytes,
      media,
      inside: read.origin("inside"),
      after: read.after(),
      when: read.when(),
    });
    const from = { file: withoutQuery(file), build: recorder.build };
    return uploadHandle(path, media ?? "unknown", from) as UploadHandle<KindOfUpload<F>>;
  };
}

interface Read {
  /** The path, the URL, or a name derived from the bytes. Empty if there is nothing to upload. */
  readonly file: string;
  readonly bytes: Uint8Array | null;
  readonly media: MediaKind | null;
}

function readUpload(given: unknown): Read {
  if (typeof given === "string") return ofPath(given, null);
  if (given instanceof URL) return ofPath(given.href, null);
  if (given instanceof Uint8Array) return ofBytes(given, null);
  if (typeof given !== "object" || given === null) return NOTHING;
  const media = "kind" in given ? (given.kind as MediaKind) : null;
  if ("bytes" in given && given.bytes instanceof Uint8Array) return ofBytes(given.bytes, media);
  return "path" in given && typeof given.path === "string" ? ofPath(given.path, media) : { ...NOTHING, media };
}

const NOTHING: Read = { file: "", bytes: null, media: null };

function ofPath(file: string, media: MediaKind | null): Read {
  return { file, bytes: null, media: media ?? kindOfPath(withoutQuery(file)) };
}

function ofBytes(given: Uint8Array, media: MediaKind | null): Read {
  const bytes = given.slice();
  return { file: `bytes:${hash("sha256", bytes)}`, bytes, media };
}

function noFile(step: string) {
  const message = "upload accepts a path, a URL, bytes, or { path, kind } from a file() field of the pipeline's input";
  return { code: "missing-file", step, field: "file", message };
}
