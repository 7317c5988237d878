import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { discardUnnamed } from "../../core/engine/index.ts";
import { HOUR_MS } from "../../core/kit/duration.ts";
import { isRunId } from "../../core/kit/file-name.ts";
import type { Showrunner } from "../../index.ts";
import { inTurn, keepFile, type Refusal, Shares } from "../served/index.ts";

/** How often to search for expired files. Files that a dead process left behind are removed once they are this old. */
const SWEEP_MS = HOUR_MS;
/**
 * Delay in milliseconds between removing a file and removing its copies from the media store. Without it, a copy that
 * is still being made would be missed.
 */
const COPIES_MS = 2 * HOUR_MS;
const RETRY_AFTER_S = 3600;
/** Disk space that each file uses in addition to its content. */
const FILE_BYTES = 12 * 1024;

interface Parts {
  /**
   * Folder that contains the files as `OWNER/SHA256/NAME`. Each file has an empty marker file beside it for every
   * request, quote or run that still needs it.
   */
  readonly folder: string;
  readonly show: Pick<Showrunner, "journal" | "media">;
  readonly most: { readonly each: number; readonly all: number };
  readonly now: () => number;
}

export interface SentBytes {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly name: string;
  readonly mostBytes: number;
  tooLarge(): Refusal;
}

/** What needs a file: a request, a quote that expires at `until` (in epoch milliseconds), or a run. */
type Use = { readonly request: string } | { readonly until: number } | { readonly run: string };

/**
 * Name prefix of files that mark a removal in progress. Until the marker is gone, storing the same file again waits.
 */
const REMOVING = ".removing-";
const REMOVAL_MS = 60_000;
const REMOVAL_POLL_MS = 20;

interface Kept {
  readonly isUsed: boolean;
  readonly isCopied: boolean;
  readonly runs: readonly string[];
  /**
   * When the file was removed, in epoch milliseconds. Null if the file still exists, or if it cannot have been copied
   * to the media store.
   */
  readonly endedAt: number | null;
  readonly sizeBytes: number;
}

/** The files that callers of the handler sent. Several processes can share the folder. */
export class SentFiles {
  readonly #parts: Parts;
  readonly #shares: Shares;
  readonly #sizes = new Map<string, Map<string, number>>();
  readonly #counts = new Map<string, Promise<unknown>>();
  #counted: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#shares = new Shares({ ...parts.most, what: "files", retryAfterS: RETRY_AFTER_S });
  }

  /** Returns the files of a request. `owner` must be safe to use as a folder name. */
  request(owner: string): RequestFiles {
    return new RequestFiles(this, owner);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /**
   * Stores a file and returns its path, which is the same if the file is sent again.
   * @throws Refusal 400, 413, 429, 503
   */
  async receive({ owner, id }: RequestFiles, { bytes, ...how }: SentBytes): Promise<string> {
    this.#counted ??= this.#begin();
    await this.#counted;
    let came = 0;
    const take = (sizeBytes: number) => {
      const taken = came === 0 ? FILE_BYTES + sizeBytes : sizeBytes;
      this.#shares.take(owner, taken);
      came += taken;
    };
    try {
      const folder = join(this.#parts.folder, owner);
      const { path } = await keepFile(passing(bytes, take), { ...how, folder, makeOwn: (own) => use(own, id) });
      this.#shares.free(owner, came);
      came = 0;
      await this.#count(owner, shaOf(path));
      return path;
    } finally {
      this.#shares.free(owner, came);
    }
  }

  async mark(owner: string, sha256: string, use: Use): Promise<void> {
    const folder = this.#folderOf(owner, sha256);
    const [[kind, value]] = Object.entries(use) as [[string, string | number]];
    await writeFile(join(folder, `.${kind}-${value}`), "");
    for (const name of "until" in use ? await namesIn(folder) : []) {
      const [, until] = /^\.until-(\d+)$/.exec(name) ?? [];
      if (Number(until) < Number(value)) await rm(join(folder, name), { force: true });
    }
    await this.#count(owner, sha256);
  }

  async unmark(owner: string, sha256: string, run: string): Promise<void> {
    await rm(join(this.#folderOf(owner, sha256), `.run-${run}`), { force: true });
    await this.#count(owner, sha256);
  }

  async release({ owner, id, mayBeCopied }: RequestFiles, hashes: readonly string[]): Promise<void> {
    for (const sha256 of hashes) {
      const folder = this.#folderOf(owner, sha256);
      if (mayBeCopied) await writeFile(join(folder, ".copied-1"), "").catch(unlessMissing);
      await rm(join(folder, `.request-${id}`), { force: true });
      await this.#endUnused(owner, sha256);
    }
  }

  async sweep(): Promise<void> {
    const { show, now } = this.#parts;
    const gone: { readonly owner: string; readonly sha256: string }[] = [];
    for await (const { owner, sha256, ageMs } of this.#all()) {
      const { endedAt } = await this.#kept(owner, sha256);
      if (endedAt === null) {
        if (ageMs > SWEEP_MS) await this.#endUnused(owner, sha256, { mayBeCopied: true });
      } else if (endedAt + COPIES_MS <= now()) gone.push({ owner, sha256 });
    }
    if (gone.length === 0) return;
    await discardUnnamed(show.journal, show.media, new Set(gone.map(({ sha256 }) => sha256)));
    for (const { owner, sha256 } of gone) {
      await this.#remove(owner, sha256, ({ isUsed, endedAt }) => (isUsed || endedAt === null ? null : {}));
    }
  }

  async #endUnused(owner: string, sha256: string, { mayBeCopied = false } = {}): Promise<void> {
    await this.#remove(owner, sha256, async ({ isUsed, isCopied, runs, endedAt, sizeBytes }) => {
      if (isUsed || endedAt !== null) return null;
      for (const run of runs) if ((await this.#parts.show.journal.run(run)) !== null) return null;
      return mayBeCopied || isCopied ? { mark: `.ended-${this.#parts.now()}-${sizeBytes}` } : {};
    });
  }

  /**
   * Removes a file unless `decide` returns null. If `decide` returns a `mark`, leaves an empty file with that name in
   * its place.
   */
  async #remove(
    owner: string,
    sha256: string,
    decide: (kept: Kept) => Promise<{ readonly mark?: string } | null> | { readonly mark?: string } | null,
  ): Promise<void> {
    const folder = this.#folderOf(owner, sha256);
    const removal = `${REMOVING}${randomUUID()}`;
    if ((await decide(await this.#kept(owner, sha256))) !== null) {
      await writeFile(join(folder, removal), "").catch(unlessMissing);
      const decided = await decide(await this.#kept(owner, sha256));
      // The mark is written first, so that the next sweep starts over if this process dies in between.
      if (decided?.mark !== undefined) await writeFile(join(folder, decided.mark), "").catch(unlessMissing);
      for (const name of decided === null ? [] : await namesIn(folder)) {
        // Another process may still be removing the file.
        if (name.startsWith(REMOVING) ? await isLeft(join(folder, name)) : name !== decided?.mark)
          await rm(join(folder, name), { force: true });
      }
      await rm(join(folder, removal), { force: true });
      // Fails if someone has sent the file again and put a mark there.
      await rmdir(folder).catch(() => {});
    }
    await this.#count(owner, sha256);
  }

  async #begin(): Promise<void> {
    for await (const { owner, sha256 } of this.#all()) await this.#count(owner, sha256);
    this.#timer = setInterval(() => void this.sweep().catch(() => {}), SWEEP_MS).unref();
  }

  async *#all(): AsyncGenerator<{ readonly owner: string; readonly sha256: string; readonly ageMs: number }> {
    const { folder, now } = this.#parts;
    for (const owner of await namesIn(folder)) {
      for (const name of await namesIn(join(folder, owner))) {
        const path = join(folder, owner, name);
        const found = await stat(path).catch(() => null);
        if (found === null) continue;
        const ageMs = now() - found.mtimeMs;
        if (/^[0-9a-f]{64}$/.test(name)) yield { owner, sha256: name, ageMs };
        // The file system's clock, because a file that is being received is dated by it.
        else if (name.endsWith(".part") && Date.now() - found.mtimeMs > SWEEP_MS) await rm(path, { force: true });
      }
    }
  }

  async #kept(owner: string, sha256: string): Promise<Kept> {
    const { folder, now } = { folder: this.#folderOf(owner, sha256), now: this.#parts.now() };
    let [isUsed, isCopied, sizeBytes, endedBytes] = [false, false, 0, 0];
    let endedAt: number | null = null;
    const runs: string[] = [];
    for (const name of await namesIn(folder)) {
      const [, kind, value = ""] = /^\.(request|until|run|ended|copied|removing)-(.+)$/.exec(name) ?? [];
      const found = kind === undefined || kind === "request" ? await stat(join(folder, name)).catch(() => null) : null;
      if (kind === undefined) sizeBytes += FILE_BYTES + (found?.size ?? 0);
      // The process of an older request has died.
      else if (kind === "request") isUsed ||= found !== null && now - found.mtimeMs < SWEEP_MS;
      else if (kind === "until") isUsed ||= Number(value) > now;
      else if (kind === "ended") [endedAt = 0, endedBytes = 0] = value.split("-").map(Number);
      else if (kind === "copied") isCopied = true;
      else if (kind === "run" && isRunId(value)) runs.push(value);
    }
    const isGone = sizeBytes === 0 && endedAt !== null;
    return { isUsed, isCopied, runs, endedAt: isGone ? endedAt : null, sizeBytes: isGone ? endedBytes : sizeBytes };
  }

  /**
   * Updates how much of its owner's storage limit a file uses. Updates run one at a time, so that the last one reflects
   * all earlier changes.
   */
  #count(owner: string, sha256: string): Promise<void> {
    return inTurn(this.#counts, "all files", () => this.#countNow(owner, sha256));
  }

  async #countNow(owner: string, sha256: string): Promise<void> {
    const { runs, sizeBytes } = await this.#kept(owner, sha256);
    const sizes = this.#sizes.get(owner) ?? new Map<string, number>();
    this.#shares.free(owner, sizes.get(sha256) ?? 0);
    sizes.delete(sha256);
    if (runs.length === 0 && sizeBytes > 0) {
      sizes.set(sha256, sizeBytes);
      this.#shares.add(owner, sizeBytes);
    }
    if (sizes.size > 0) this.#sizes.set(owner, sizes);
    else this.#sizes.delete(owner);
  }

  #folderOf(owner: string, sha256: string): string {
    return join(this.#parts.folder, owner, sha256);
  }
}

export class RequestFiles {
  readonly owner: string;
  readonly id = randomUUID();
  mayBeCopied = false;
  readonly #files: SentFiles;
  readonly #paths = new Set<string>();
  #isAnswered = false;

  constructor(files: SentFiles, owner: string) {
    this.#files = files;
    this.owner = owner;
  }

  get paths(): ReadonlySet<string> {
    return this.#paths;
  }

  async keep(sent: SentBytes): Promise<string> {
    try {
      const path = await this.#files.receive(this, sent);
      this.#paths.add(path);
      return path;
    } finally {
      // A file may arrive after another file caused the request to be refused.
      if (this.#isAnswered) await this.release();
    }
  }

  async keepFor(use: { readonly until: number } | { readonly run: string }): Promise<void> {
    for (const path of this.#paths) await this.#files.mark(this.owner, shaOf(path), use);
  }

  async keepOnly(run: string, named: ReadonlySet<string>): Promise<void> {
    for (const path of this.#paths) {
      if (named.has(path)) await this.#files.mark(this.owner, shaOf(path), { run });
      else await this.#files.unmark(this.owner, shaOf(path), run);
    }
  }

  async release(): Promise<void> {
    this.#isAnswered = true;
    await this.#files.release(this, [...this.#paths].map(shaOf));
  }
}

/** Creates the folder and marks it as in use by the request, so that no process removes it. */
async function use(folder: string, request: string): Promise<void> {
  for (;;) {
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch(unlessMissing);
    await writeFile(join(folder, `.request-${request}`), "").catch(unlessMissing);
    const names = await namesIn(folder);
    const removals = names.filter((name) => name.startsWith(REMOVING));
    if (removals.length === 0 && names.includes(`.request-${request}`)) return;
    for (const name of removals) if (await isLeft(join(folder, name))) await rm(join(folder, name), { force: true });
    await sleep(REMOVAL_POLL_MS);
  }
}

/** Returns true if the marker file of a removal is so old that the process that created it must have died. */
async function isLeft(removal: string): Promise<boolean> {
  const found = await stat(removal).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > REMOVAL_MS;
}

/** Ignores `ENOENT`, because another process may have removed the folder. */
function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

const shaOf = (path: string) => dirname(path).slice(-64);

async function* passing(bytes: AsyncIterable<Uint8Array>, take: (sizeBytes: number) => void) {
  for await (const piece of bytes) {
    take(piece.length);
    yield piece;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
