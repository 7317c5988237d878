import { hash } from "node:crypto";
import { z } from "zod";
import { own } from "../../kit/lookup.ts";
import { withoutQuery } from "../../plan/kinds/upload.ts";
import type { MediaKind } from "../../plan/plan.ts";
import { type UploadHandle, uploadHandle } from "../handle.ts";
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
type Uploadable = FileInput | BytesInput | Uint8Array | URL | string;

type KindOfUpload<F extends Uploadable> = F extends { readonly kind: infer K extends MediaKind }
  ? K
  : F extends string
    ? KindOfPath<F>
    : "unknown";

interface UploadOptions extends StepOptions {
  /**
   * An origin on your own network or on this machine that the URL may use, such as `http://assets.corp:8080`. Default:
   * none, so the URL must lead to the public internet.
   */
  readonly inside?: string | undefined;
}

export interface UploadMethod {
  /**
   * Adds a file for jobs and tasks, free of charge. It is sent to the service once a job needs it. The file can be a
   * path, a `{ path, kind }` from a `file()` field of the input, bytes, or a URL that this machine fetches. The handle
   * can be used wherever an input accepts media of this kind.
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
  /** Name of the upload: its path, its URL, or a name derived from the bytes. Empty if there is nothing to upload. */
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

/** A local media file that a pipeline takes as input. */
export interface FileInput<K extends MediaKind = MediaKind> {
  /** The path as given. A relative path is resolved against the run's working directory. */
  readonly path: string;
  readonly kind: K;
}

/** A file, given as its path or as an object that contains its path. */
export type FilePath = string | { readonly path: string };

/** Schema of a {@link FileInput}. */
export interface FileSchema<K extends MediaKind> extends z.ZodType<FileInput<K>, FilePath> {
  /** Sets a default path. It is parsed like any other path. */
  default(path: FilePath | (() => FilePath)): z.ZodDefault<this>;
}

const path = z.string().min(1);

/**
 * Declares an input field for a local file of this kind. The field accepts a path or `{ path }`, and its parsed value
 * is a {@link FileInput}.
 */
export function file<K extends MediaKind>(kind: K): FileSchema<K> {
  const error = `must be the path of ${kind === "video" ? "a" : "an"} ${kind} file`;
  const schema = z
    .union([path, z.object({ path })], { error })
    .transform((given): FileInput<K> => ({ path: typeof given === "string" ? given : given.path, kind }))
    .meta({ showrunnerFile: kind });
  // A plain default would skip the parsing and give the pipeline a bare path.
  return Object.assign(schema, { default: schema.prefault }) as unknown as FileSchema<K>;
}

const kindOfExtension: Readonly<Record<string, MediaKind>> = {
  png: "image",
  jpg: "image",
  jpeg: "image",
  webp: "image",
  gif: "image",
  avif: "image",
  mp4: "video",
  mov: "video",
  webm: "video",
  mkv: "video",
  mp3: "audio",
  wav: "audio",
  m4a: "audio",
  aac: "audio",
  flac: "audio",
  ogg: "audio",
  opus: "audio",
};

export function kindOfPath(path: string): MediaKind | null {
  const extension = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return own(kindOfExtension, extension) ?? null;
}

type ImageEnding = "png" | "jpg" | "jpeg" | "webp" | "gif" | "avif";
type VideoEnding = "mp4" | "mov" | "webm" | "mkv";
type AudioEnding = "mp3" | "wav" | "m4a" | "aac" | "flac" | "ogg" | "opus";

/** The kind of media that {@link kindOfPath} finds for a literal path. `unknown` for all other paths. */
export type KindOfPath<P extends string> = string extends P
  ? "unknown"
  : Lowercase<P> extends `${string}.${ImageEnding}`
    ? "image"
    : Lowercase<P> extends `${string}.${VideoEnding}`
      ? "video"
      : Lowercase<P> extends `${string}.${AudioEnding}`
        ? "audio"
        : "unknown";
