import { randomUUID } from "node:crypto";
import { readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HOUR_MS } from "../duration.ts";
import { discardUnnamed, isRunId, type Showrunner } from "../internal.ts";
import { keepFile, type Refusal, Shares } from "../served/index.ts";

/** How often what has ended is looked for, and how old what a killed process left is by then. */
const SWEEP_MS = HOUR_MS;
/** Until then a request that has just ended may have had its file copied into the media store, whose `gc` spares what is young. */
const COPIES_MS = 2 * HOUR_MS;
const RETRY_AFTER_S = 3600;

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

/** What the marks beside a file say. */
interface Kept {
  readonly isUsed: boolean;
  readonly runs: readonly string[];
  /** When the file went, epoch milliseconds: its copy in the media store may be there. */
  readonly endedAt: number | null;
  readonly sizeBytes: number;
}

/** Files of one caller, as this process knows them. */
interface Place {
  /** Bytes that count, by hash. */
  readonly sizes: Map<string, number>;
  /** Hashes that requests have just let go of, and whether there may be copies. */
  readonly freed: Map<string, boolean>;
  receiving: number;
  /** Null: nothing is being removed. */
  removing: Promise<void> | null;
}

/**
 * Files that callers sent. Those of a quote end with it, those of a request that led to neither a quote nor a run at once, and those of a run
 * with the run; so do their copies in the media store. Bytes that belong to no run are bounded by caller and in all.
 */
export class SentFiles {
  readonly #parts: Parts;
  readonly #shares: Shares;
  readonly #places = new Map<string, Place>();
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
    const place = this.#place(owner);
    place.receiving += 1;
    let came = 0;
    const take = (sizeBytes: number) => {
      this.#shares.take(owner, sizeBytes);
      came += sizeBytes;
    };
    try {
      await place.removing;
      const { path } = await keepFile(passing(bytes, take), { ...how, folder: join(this.#parts.folder, owner) });
      this.#shares.free(owner, came);
      came = 0;
      await this.mark(owner, shaOf(path), { request: id });
      return path;
    } finally {
      this.#shares.free(owner, came);
      place.receiving -= 1;
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

  /** The request is answered: files that nothing else uses go, also those that an earlier one left while this one sent its own. */
  async release({ owner, id, mayBeCopied }: RequestFiles, hashes: readonly string[]): Promise<void> {
    if (hashes.length === 0 && !this.#places.has(owner)) return;
    for (const sha256 of hashes) {
      await rm(join(this.#folderOf(owner, sha256), `.request-${id}`), { force: true });
      const { freed } = this.#place(owner);
      freed.set(sha256, mayBeCopied || freed.get(sha256) === true);
    }
    await this.#remove(owner, async ({ freed }) => {
      const hashesFreed = [...freed];
      freed.clear();
      for (const [sha256, isCopied] of hashesFreed) await this.#endUnused(owner, sha256, isCopied);
    });
  }

  /** Removes files of an owner, unless one is on its way, which may be the same again: its request is released later. */
  async #remove(owner: string, remove: (place: Place) => Promise<void>): Promise<void> {
    const place = this.#place(owner);
    const removed = (place.removing ?? Promise.resolve()).then(async () => {
      if (place.receiving === 0) await remove(place);
    });
    const removing = removed
      .catch(() => {})
      .then(() => {
        if (place.removing === removing) place.removing = null;
        this.#forgetEmpty(owner);
      });
    place.removing = removing;
    await removed;
  }

  /** Removes what has ended: files of quotes and runs, copies of them, and what killed processes left. */
  async sweep(): Promise<void> {
    const { show, now } = this.#parts;
    const gone: { readonly owner: string; readonly sha256: string }[] = [];
    for await (const { owner, sha256, ageMs } of this.#all()) {
      const { endedAt } = await this.#kept(owner, sha256);
      if (endedAt === null) {
        if (ageMs > SWEEP_MS) await this.#remove(owner, () => this.#endUnused(owner, sha256, true));
      } else if (endedAt + COPIES_MS <= now()) gone.push({ owner, sha256 });
    }
    if (gone.length === 0) return;
    await discardUnnamed(show.journal, show.media, new Set(gone.map(({ sha256 }) => sha256)));
    for (const { owner, sha256 } of gone) {
      await this.#remove(owner, async () => {
        if ((await this.#kept(owner, sha256)).endedAt === null) return;
        await rm(this.#folderOf(owner, sha256), { recursive: true, force: true });
        await this.#count(owner, sha256);
      });
    }
  }

  async #endUnused(owner: string, sha256: string, mayBeCopied: boolean): Promise<void> {
    const { isUsed, runs, endedAt, sizeBytes } = await this.#kept(owner, sha256);
    if (isUsed || endedAt !== null) return;
    for (const run of runs) if ((await this.#parts.show.journal.run(run)) !== null) return;
    const folder = this.#folderOf(owner, sha256);
    if (mayBeCopied) {
      // Before the file goes: should this process die in between, a sweep begins anew.
      const mark = `.ended-${this.#parts.now()}-${sizeBytes}`;
      await writeFile(join(folder, mark), "");
      for (const name of await namesIn(folder)) if (name !== mark) await rm(join(folder, name), { force: true });
    } else await rm(folder, { recursive: true, force: true });
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
    let [isUsed, sizeBytes, endedBytes] = [false, 0, 0];
    let endedAt: number | null = null;
    const runs: string[] = [];
    for (const name of await namesIn(folder)) {
      const [, kind, value = ""] = /^\.(request|until|run|ended)-(.+)$/.exec(name) ?? [];
      const found = kind === undefined || kind === "request" ? await stat(join(folder, name)).catch(() => null) : null;
      if (kind === undefined) sizeBytes += found?.size ?? 0;
      // A request that takes longer has ended with its process.
      else if (kind === "request") isUsed ||= found !== null && now - found.mtimeMs < SWEEP_MS;
      else if (kind === "until") isUsed ||= Number(value) > now;
      else if (kind === "ended") [endedAt = 0, endedBytes = 0] = value.split("-").map(Number);
      else if (isRunId(value)) runs.push(value);
    }
    const isGone = sizeBytes === 0 && endedAt !== null;
    return { isUsed, runs, endedAt: isGone ? endedAt : null, sizeBytes: isGone ? endedBytes : sizeBytes };
  }

  async #count(owner: string, sha256: string): Promise<void> {
    const { runs, sizeBytes } = await this.#kept(owner, sha256);
    const { sizes } = this.#place(owner);
    this.#shares.free(owner, sizes.get(sha256) ?? 0);
    sizes.delete(sha256);
    if (runs.length > 0 || sizeBytes === 0) return this.#forgetEmpty(owner);
    sizes.set(sha256, sizeBytes);
    this.#shares.add(owner, sizeBytes);
  }

  #place(owner: string): Place {
    const place = this.#places.get(owner) ?? {
      sizes: new Map(),
      freed: new Map(),
      receiving: 0,
      removing: null,
    };
    this.#places.set(owner, place);
    return place;
  }

  #forgetEmpty(owner: string): void {
    const { sizes, freed, receiving, removing } = this.#place(owner);
    if (sizes.size + freed.size + receiving === 0 && removing === null) this.#places.delete(owner);
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
