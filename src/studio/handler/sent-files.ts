import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { HOUR_MS } from "../../core/kit/duration.ts";
import { discardUnnamed, isRunId, type Showrunner } from "../../internal.ts";
import { keepFile, type Refusal, Shares } from "../served/index.ts";

/** How often what has ended is looked for, and how old what a killed process left is by then. */
const SWEEP_MS = HOUR_MS;
/** Until then a request that has just ended may have had its file copied into the media store, whose `gc` spares what is young. */
const COPIES_MS = 2 * HOUR_MS;
const RETRY_AFTER_S = 3600;
/** What a file takes beside its bytes, in blocks of the disk: its folder, its last block, its marks. */
const FILE_BYTES = 12 * 1024;

interface Parts {
  /** Where they lie: `OWNER/SHA256/NAME`, with marks beside the file that say what it is kept for. */
  readonly folder: string;
  readonly show: Pick<Showrunner, "journal" | "media">;
  /** Bytes that belong to no run. */
  readonly most: { readonly each: number; readonly all: number };
  readonly now: () => number;
}

export interface SentBytes {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly name: string;
  readonly mostBytes: number;
  tooLarge(): Refusal;
}

/** What a file is kept for: a request, a quote that ends then (epoch milliseconds), a run. */
type Use = { readonly request: string } | { readonly until: number } | { readonly run: string };

/** Before a file is removed, a mark says so: who sends it meanwhile waits for the end of that. With its process it ends so late, milliseconds. */
const REMOVING = ".removing-";
const REMOVAL_MS = 60_000;
const REMOVAL_POLL_MS = 20;

/** What the marks beside a file say. */
interface Kept {
  readonly isUsed: boolean;
  /** Whether the media store may have it too. */
  readonly isCopied: boolean;
  readonly runs: readonly string[];
  /** When the file went, epoch milliseconds: its copy in the media store may be there. */
  readonly endedAt: number | null;
  readonly sizeBytes: number;
}

/**
 * Files that callers sent. Those of a quote end with it, those of a request that led to neither a quote nor a run at once, and those of a run
 * with the run; so do their copies in the media store. Bytes that belong to no run are bounded by caller and in all.
 * Processes may share the folder: who uses a file marks it and then looks whether it is being removed, who removes it does both the other way round.
 */
export class SentFiles {
  readonly #parts: Parts;
  readonly #shares: Shares;
  /** Bytes that count, by owner and hash, as this process knows them. */
  readonly #sizes = new Map<string, Map<string, number>>();
  #counts: Promise<void> = Promise.resolve();
  #counted: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#shares = new Shares({ ...parts.most, what: "files of yours", retryAfterS: RETRY_AFTER_S });
  }

  /** What one request of a caller sends. `owner`: a name for the caller that can be a folder. */
  request(owner: string): RequestFiles {
    return new RequestFiles(this, owner);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Keeps bytes by their content: the same file sent again is the same path, and so the same input. @throws Refusal 400, 413, 429, 503 */
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

  /** The file is not kept for this run after all. */
  async unmark(owner: string, sha256: string, run: string): Promise<void> {
    await rm(join(this.#folderOf(owner, sha256), `.run-${run}`), { force: true });
    await this.#count(owner, sha256);
  }

  /** The request is answered: files that nothing else uses go. */
  async release({ owner, id, mayBeCopied }: RequestFiles, hashes: readonly string[]): Promise<void> {
    for (const sha256 of hashes) {
      const folder = this.#folderOf(owner, sha256);
      if (mayBeCopied) await writeFile(join(folder, ".copied-1"), "").catch(unlessMissing);
      await rm(join(folder, `.request-${id}`), { force: true });
      await this.#endUnused(owner, sha256);
    }
  }

  /** Removes what has ended: files of quotes and runs, copies of them, and what killed processes left. */
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

  /** Removes a file with its marks, or leaves one in their place. `decide`: null where the file stays. */
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
      // Before the file goes: should this process die in between, a sweep begins anew.
      if (decided?.mark !== undefined) await writeFile(join(folder, decided.mark), "").catch(unlessMissing);
      for (const name of decided === null ? [] : await namesIn(folder)) {
        // Others that remove it as well may not be at their end.
        if (name.startsWith(REMOVING) ? await isLeft(join(folder, name)) : name !== decided?.mark)
          await rm(join(folder, name), { force: true });
      }
      await rm(join(folder, removal), { force: true });
      // Whoever sent it again has a mark there by now.
      await rmdir(folder).catch(() => {});
    }
    await this.#count(owner, sha256);
  }

  /** Counts what an earlier process left, and looks for what has ended from then on. */
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
        else if (name.endsWith(".part") && ageMs > SWEEP_MS) await rm(path, { force: true });
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
      // A request that takes longer has ended with its process.
      else if (kind === "request") isUsed ||= found !== null && now - found.mtimeMs < SWEEP_MS;
      else if (kind === "until") isUsed ||= Number(value) > now;
      else if (kind === "ended") [endedAt = 0, endedBytes = 0] = value.split("-").map(Number);
      else if (kind === "copied") isCopied = true;
      else if (kind === "run" && isRunId(value)) runs.push(value);
    }
    const isGone = sizeBytes === 0 && endedAt !== null;
    return { isUsed, isCopied, runs, endedAt: isGone ? endedAt : null, sizeBytes: isGone ? endedBytes : sizeBytes };
  }

  /** One after the other: the last one has seen what all before it changed. */
  #count(owner: string, sha256: string): Promise<void> {
    const counted = this.#counts.then(() => this.#countNow(owner, sha256));
    this.#counts = counted.catch(() => {});
    return counted;
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

/** The files that one request sends. */
export class RequestFiles {
  readonly owner: string;
  readonly id = randomUUID();
  /** From when the media store may have them too. */
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

  /** Answers its path. @throws Refusal */
  async keep(sent: SentBytes): Promise<string> {
    try {
      const path = await this.#files.receive(this, sent);
      this.#paths.add(path);
      return path;
    } finally {
      // One of several that are fetched may come, or fail, after another one led to the refusal.
      if (this.#isAnswered) await this.release();
    }
  }

  /** They are kept until a quote ends, or as long as there is the run. */
  async keepFor(use: { readonly until: number } | { readonly run: string }): Promise<void> {
    for (const path of this.#paths) await this.#files.mark(this.owner, shaOf(path), use);
  }

  /** Of those that were kept for a run, it keeps these. */
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

/** Marks a file for a request, before it is there. */
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

/** Whether a process died while it removed the file. */
async function isLeft(removal: string): Promise<boolean> {
  const found = await stat(removal).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > REMOVAL_MS;
}

/** The folder was removed meanwhile. */
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

/** None where there is no such folder. */
async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
