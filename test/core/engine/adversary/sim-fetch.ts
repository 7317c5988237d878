import type { StoredMedia } from "../../../../src/core/engine/media/media-store.ts";
import type { SimMedia } from "./sim-media.ts";

/** Responses of the hosts in simulated worlds: bytes, or an error message. */
export const hosts = new Map<string, (url: string) => Uint8Array | string>();

/** Replaces the download of media from a provider's response; see files-in-memory.ts. */
export async function fetchFile(url: string, media: SimMedia): Promise<StoredMedia | { readonly error: string }> {
  const found = hosts.get(new URL(url).host)?.(url) ?? "no such host";
  return typeof found === "string" ? { error: `${url} ${found}` } : media.put({ bytes: found });
}
