import { createHash } from "node:crypto";

const HEADER_END = Buffer.from("\r\n\r\n");
/** Headers of one part. */
const MOST_HEADER_BYTES = 16_384;

/** Reads a multipart body as it passes, for the hash of its part `file`; nothing of the part is kept. */
export class UploadHash {
  readonly #boundary: Buffer | null;
  readonly #hash = createHash("sha256");
  #held = Buffer.from("\r\n");
  #state: "boundary" | "headers" | "file" | "other" | "over" = "boundary";
  #isWhole = false;

  constructor(contentType: string) {
    const [, quoted, plain] = /boundary=(?:"([^"]{1,200})"|([^\s;,"]{1,200}))/i.exec(contentType) ?? [];
    const name = quoted ?? plain;
    this.#boundary = name === undefined ? null : Buffer.from(`\r\n--${name}`, "latin1");
    if (this.#boundary === null) this.#state = "over";
  }

  add(chunk: Uint8Array): void {
    if (this.#state === "over") return;
    this.#held = Buffer.concat([this.#held, chunk]);
    while (this.#step());
  }

  /** Lowercase hex; null when no whole part `file` passed. */
  digest(): string | null {
    return this.#isWhole ? this.#hash.digest("hex") : null;
  }

  /** One step through what is held; false when more bytes are needed. */
  #step(): boolean {
    if (this.#state === "over") return false;
    return this.#state === "headers" ? this.#readHeaders() : this.#readToBoundary(this.#boundary!);
  }

  #readHeaders(): boolean {
    const end = this.#held.indexOf(HEADER_END);
    if (end < 0) {
      if (this.#held.length > MOST_HEADER_BYTES) this.#state = "over";
      return false;
    }
    const headers = this.#held.subarray(0, end).toString("latin1");
    this.#state = /;\s*name="?file"?\s*(?:;|\r\n|$)/i.test(headers) ? "file" : "other";
    this.#held = this.#held.subarray(end + HEADER_END.length);
    return true;
  }

  #readToBoundary(boundary: Buffer): boolean {
    const at = this.#held.indexOf(boundary);
    // What may be the beginning of a boundary stays until more has come.
    const until = at < 0 ? Math.max(0, this.#held.length - boundary.length + 1) : at;
    if (this.#state === "file") this.#hash.update(this.#held.subarray(0, until));
    this.#held = this.#held.subarray(at < 0 ? until : at + boundary.length);
    if (at < 0) return false;
    this.#isWhole = this.#state === "file";
    this.#state = this.#isWhole ? "over" : "headers";
    return !this.#isWhole;
  }
}
