import { createHmac } from "node:crypto";
import { HOUR_MS } from "../../core/kit/duration.ts";
import { fileExtension } from "../../core/kit/file-name.ts";
import { isSame } from "../served/index.ts";
import type { Context } from "./options.ts";

/** Minimum lifetime of an address, because a new one restarts players. */
export const ADDRESS_MS = HOUR_MS;

interface SignedFile {
  readonly runId: string;
  readonly sha256: string;
  readonly contentType: string;
}

type Signing = Pick<Context, "secret" | "prefix">;

/** Anyone with the address can read the file for one to two hours. */
export function fileAddress({ secret, prefix }: Signing, file: SignedFile, now: number): string {
  const ends = (Math.floor(now / ADDRESS_MS) + 2) * ADDRESS_MS;
  const query = new URLSearchParams({ type: file.contentType, ends: String(ends), mark: markOf(secret, file, ends) });
  const name = `${file.sha256}${fileExtension(file.contentType)}`;
  return `${prefix}/media/${encodeURIComponent(file.runId)}/${name}?${query}`;
}

export function fileOfAddress(
  { secret }: Pick<Context, "secret">,
  { runId, name, query }: { readonly runId: string; readonly name: string; readonly query: URLSearchParams },
  now: number,
): SignedFile | null {
  const [, sha256, extension] = /^([0-9a-f]{64})(\.[a-z0-9]{1,8})?$/.exec(name) ?? [];
  const [contentType, ends, mark] = ["type", "ends", "mark"].map((key) => query.get(key) ?? "") as [
    string,
    string,
    string,
  ];
  if (sha256 === undefined || !/^\d{13}$/.test(ends)) return null;
  const file = { runId, sha256, contentType };
  const isGenuine = isSame(mark, markOf(secret, file, Number(ends)));
  return isGenuine && (extension ?? "") === fileExtension(contentType) && Number(ends) > now ? file : null;
}

function markOf(secret: string, { runId, sha256, contentType }: SignedFile, ends: number): string {
  const said = JSON.stringify(["showrunner media", runId, sha256, contentType, ends]);
  return createHmac("sha256", secret).update(said).digest("base64url");
}
