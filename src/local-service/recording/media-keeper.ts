import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "../../core/api/client.ts";
import { cleanContentType, cleanId } from "../../core/kit/clean-text.ts";
import { RECORDED_MEDIA } from "./recorded-values.ts";
import type { RecordingFile } from "./recording-file.ts";

/** Fetches outputs beside the program that is recorded, and keeps each under the hash of its bytes. */
export interface MediaKeeper {
  keep(asset: string, url: string): void;
  /** Once all are here. */
  close(): Promise<void>;
}

/** Addresses that a service names lead where its client may go, and no credential is sent to them. */
export function openMediaKeeper(
  folder: string,
  baseUrl: string,
  file: RecordingFile,
  say: (text: string) => void,
): MediaKeeper {
  const client = createClient({ baseUrl, apiKey: null });
  const media = join(folder, RECORDED_MEDIA);
  const asked = new Set<string>();
  let fetching: Promise<void> = Promise.resolve();

  async function fetchOne(asset: string, url: string): Promise<void> {
    await mkdir(media, { recursive: true, mode: 0o700 });
    const part = join(media, `.part-${process.pid}`);
    try {
      const { sha256, sizeBytes, contentType } = await client.download(url, part);
      await rename(part, join(media, sha256));
      await file.addAsset({ asset, sha256, size_bytes: sizeBytes, content_type: cleanContentType(contentType) });
    } catch (error) {
      say(`The bytes of ${asset} are not kept: ${(error as Error).message}`);
    } finally {
      await rm(part, { force: true });
    }
  }

  return {
    keep(named, url) {
      const asset = cleanId(named);
      if (asset === null || asked.has(asset) || file.hasAsset(asset)) return;
      asked.add(asset);
      fetching = fetching.then(() => fetchOne(asset, url));
    },
    async close() {
      await fetching;
      await client.close();
    },
  };
}
