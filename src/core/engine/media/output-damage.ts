import { rm } from "node:fs/promises";
import {
  type Client,
  type Downloaded,
  type DownloadOptions,
  type DownloadSource,
  MalformedResponseError,
} from "../../api/index.ts";
import { damageOf, type StatedFacts } from "./media-reader.ts";

/**
 * A downloaded output is incomplete or does not match what the service reported. The file was removed from the disk.
 */
export class DamagedOutputError extends MalformedResponseError {
  readonly damage: string;

  constructor(source: Exclude<DownloadSource, string>, damage: string) {
    super(`the download of output ${source.outputIndex} of ${source.jobId}`, [damage], { isJson: false });
    this.damage = damage;
  }
}

export async function downloadOutput(
  client: Pick<Client, "download">,
  source: Exclude<DownloadSource, string>,
  { target, stated, ...options }: DownloadOptions & { readonly target: string; readonly stated: StatedFacts },
): Promise<Downloaded> {
  const got = await client.download(source, target, options);
  const damage = await damageOf(target, { ...stated, contentType: stated.contentType ?? got.contentType });
  if (damage === null) return got;
  await rm(target, { force: true });
  throw new DamagedOutputError(source, damage);
}
