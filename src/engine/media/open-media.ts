import { resolve } from "node:path";
import { openMediaStore } from "./folder-store.ts";
import type { MediaStore } from "./media-store.ts";

export interface MediaOptions {
  /** Where media are kept: a folder. Default: `mediaDir`. */
  readonly media?: string | undefined;
  /** Folder of downloaded bytes, by content hash. */
  readonly mediaDir: string;
}

/** Opens the store that the options name. */
export async function openMedia({ media, mediaDir }: MediaOptions): Promise<MediaStore> {
  return openMediaStore(resolve(media || mediaDir));
}
