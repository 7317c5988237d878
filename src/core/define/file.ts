import { z } from "zod";
import { own } from "../kit/own.ts";
import type { MediaKind } from "../plan/plan.ts";

/** A local media file that a pipeline takes as input. */
export interface FileInput<K extends MediaKind = MediaKind> {
  /** As it was given; relative to the working directory of the run. */
  readonly path: string;
  readonly kind: K;
}

/** How a file is given: its path, alone or as `path`. */
export type FilePath = string | { readonly path: string };

/** Schema of a {@link FileInput}. */
export interface FileSchema<K extends MediaKind> extends z.ZodType<FileInput<K>, FilePath> {
  /** A path to take when none is given. It is parsed like any other, so that it becomes a {@link FileInput}. */
  default(path: FilePath | (() => FilePath)): z.ZodDefault<this>;
}

const path = z.string().min(1);

/** A field of a pipeline's input that takes a local file of a kind: a path, or `{ path }`. Becomes a {@link FileInput}. */
export function file<K extends MediaKind>(kind: K): FileSchema<K> {
  const error = `give the path of ${kind === "video" ? "a" : "an"} ${kind} file`;
  const schema = z
    .union([path, z.object({ path })], { error })
    .transform((given): FileInput<K> => ({ path: typeof given === "string" ? given : given.path, kind }))
    .meta({ showrunnerFile: kind });
  // A plain default would skip the parsing above and hand a bare path to the pipeline.
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

/** Kind of media that a path's ending promises; null when it promises none. */
export function kindOfPath(path: string): MediaKind | null {
  const extension = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return own(kindOfExtension, extension) ?? null;
}

type ImageEnding = "png" | "jpg" | "jpeg" | "webp" | "gif" | "avif";
type VideoEnding = "mp4" | "mov" | "webm" | "mkv";
type AudioEnding = "mp3" | "wav" | "m4a" | "aac" | "flac" | "ogg" | "opus";

/** {@link kindOfPath} for a path that is a literal; `unknown` else. */
export type KindOfPath<P extends string> = string extends P
  ? "unknown"
  : Lowercase<P> extends `${string}.${ImageEnding}`
    ? "image"
    : Lowercase<P> extends `${string}.${VideoEnding}`
      ? "video"
      : Lowercase<P> extends `${string}.${AudioEnding}`
        ? "audio"
        : "unknown";
