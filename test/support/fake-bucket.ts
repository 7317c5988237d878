import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import type { Bucket, BucketObject } from "../../src/core/engine/media/bucket/bucket.ts";

/** A bucket in memory. The test controls its clock and the order of its requests. */
export class FakeBucket implements Bucket {
  readonly location = "s3://fake/";
  readonly objects = new Map<string, { readonly bytes: Buffer; readonly at: number }>();
  #now = 0;
  /** Each request is executed when this settles, and answered when a second call settles. */
  turn: (request: string) => Promise<void> = async () => {};

  pass(ms: number): void {
    this.#now += ms;
  }

  async head(key: string) {
    return this.#request(`HEAD ${key}`, () => this.#object(key));
  }

  async put(key: string, { path }: { readonly path: string }) {
    await this.#request(`PUT ${key}`, () => this.objects.set(key, { bytes: readFileSync(path), at: this.#now }));
  }

  async get(key: string, range?: { readonly start: number; readonly end?: number }) {
    return this.#request(`GET ${key}`, () => {
      const found = this.objects.get(key);
      if (found === undefined) return null;
      const bytes = found.bytes.subarray(range?.start ?? 0, range?.end === undefined ? undefined : range.end + 1);
      return { body: Readable.from([bytes]), sizeBytes: found.bytes.length };
    });
  }

  async copy({ key }: BucketObject, to: string) {
    return this.#request(`COPY ${key} ${to}`, () => {
      const found = this.objects.get(key);
      if (found !== undefined) this.objects.set(to, { ...found, at: this.#now });
      return found !== undefined;
    });
  }

  async delete(key: string) {
    await this.#request(`DELETE ${key}`, () => this.objects.delete(key));
  }

  async *list(prefix: string) {
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix));
    yield* await this.#request(`LIST ${prefix}`, () => keys.flatMap((key) => this.#object(key) ?? []));
  }

  async probe() {
    return { clockOffsetMs: 0 };
  }

  async linkOrigin() {
    return null;
  }

  async link() {
    return null;
  }

  async abortUploads() {
    return 0;
  }

  #object(key: string): BucketObject | null {
    const found = this.objects.get(key);
    return found === undefined ? null : { key, sizeBytes: found.bytes.length, ageMs: this.#now - found.at };
  }

  async #request<T>(request: string, work: () => T): Promise<T> {
    await this.turn(request);
    const done = work();
    await this.turn(`answer to ${request}`);
    return done;
  }
}
