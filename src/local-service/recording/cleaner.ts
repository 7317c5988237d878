import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { credentialsIn, KnownSecrets } from "../../core/kit/known-secrets.ts";
import { isRecord, parsed } from "../json.ts";
import { mapTexts, OUTPUT_URL, RECORDED_HEADERS, recordable, withoutSendersOwn } from "./recorded-values.ts";

const MOST_HANDLES = 100_000;

type Json = Readonly<Record<string, unknown>>;

export class Cleaner {
  readonly #secrets = new KnownSecrets();
  readonly #uploads: Map<string, string>;

  constructor(uploads: ReadonlyMap<string, string>) {
    this.#uploads = new Map(uploads);
  }

  /** Learns the credentials in these headers, which are then removed from everything that is recorded. */
  learnRequest(headers: IncomingHttpHeaders): void {
    for (const secret of credentialsIn(headers)) this.#secrets.learn(secret);
    this.#learnCookies(headers.cookie?.split(/;\s*/) ?? []);
  }

  learnAnswer(headers: IncomingHttpHeaders): void {
    this.#learnCookies(headers["set-cookie"] ?? []);
  }

  /** Registers the handle of an upload, so that all bodies contain `mark` instead. Returns the handle's hash. */
  learnUpload(handle: string, mark: string): string {
    const hash = hashOf(handle);
    if (this.#uploads.size < MOST_HANDLES) this.#uploads.set(hash, mark);
    return hash;
  }

  text(text: string): string {
    return recordable(this.#secrets.remove(text)) as string;
  }

  headers(headers: IncomingHttpHeaders): Record<string, string> {
    const kept = RECORDED_HEADERS.flatMap((name) => {
      const value = headers[name];
      return typeof value === "string" ? [[name, this.text(value)] as const] : [];
    });
    return Object.fromEntries(kept);
  }

  request(text: string): unknown {
    if (text === "") return undefined;
    const value = parsed(text);
    if (value === undefined) return this.text(text);
    return this.#clean(withoutSendersOwn(value));
  }

  answer(text: string): unknown {
    const value = parsed(text);
    if (value === undefined) return undefined;
    return this.#clean(isRecord(value) ? withoutOutputUrls(value) : value);
  }

  #clean(value: unknown): unknown {
    const markOf = (text: string) => (this.#uploads.size === 0 ? undefined : this.#uploads.get(hashOf(text)));
    const cleaned = (text: string) => markOf(text) ?? this.#secrets.remove(text);
    return recordable(mapTexts(value, cleaned, cleaned));
  }

  #learnCookies(pairs: readonly string[]): void {
    for (const pair of pairs) this.#secrets.learnHandedOut(pair.replace(/^[^=]*=/, "").replace(/;.*$/s, ""));
  }
}

/** Replaces output URLs, which are secret and differ each time a job is read, and clears the trace id. */
function withoutOutputUrls(answer: Json): Json {
  const { outputs, trace_id } = answer;
  const plain = trace_id === undefined ? answer : { ...answer, trace_id: null };
  if (!Array.isArray(outputs)) return plain;
  const marked = outputs.map((output) =>
    isRecord(output) && typeof output.url === "string" ? { ...output, url: OUTPUT_URL } : output,
  );
  return { ...plain, outputs: marked };
}

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
