import { z } from "zod";
import { own } from "../kit/own.ts";
import type { MediaKind } from "../plan/plan.ts";

/** A local media file that a pipeline takes as input. */
export interface FileInput<K extends MediaKind = MediaKind> {
  /** The path as given. A relative path starts at the run's working directory. */
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
