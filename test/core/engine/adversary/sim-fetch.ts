import type { StoredMedia } from "../../../../src/core/engine/media/media-store.ts";
import type { SimMedia } from "./sim-media.ts";

/** What answers at the hosts of simulated worlds: bytes, or what goes wrong. */
export const hosts = new Map<string, (url: string) => Uint8Array | string>();

/** In place of what fetches the media that a provider's answer names; see files-in-memory.ts. */
export async function fetchFile(url: string, media: SimMedia): Promise<StoredMedia | { readonly error: string }> {
  const found = hosts.get(new URL(url).host)?.(url) ?? "no such host";
  return typeof found === "string" ? { error: `${url} ${found}` } : media.put({ bytes: found });
}
