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
  removing: Promise<void>;
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
    await place.removing;
    place.receiving += 1;
    let came = 0;
    const take = (sizeBytes: number) => {
      this.#shares.take(owner, sizeBytes);
      came += sizeBytes;
    };
    try {
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

  /** The request is answered: files that nothing else uses go. */
  async release({ owner, id, mayBeCopied }: RequestFiles, hashes: Iterable<string>): Promise<void> {
    const place = this.#place(owner);
    for (const sha256 of hashes) {
      await rm(join(this.#folderOf(owner, sha256), `.request-${id}`), { force: true });
      place.freed.set(sha256, mayBeCopied || place.freed.get(sha256) === true);
    }
    // One of them may be on its way again; its request comes here later.
    if (place.receiving > 0) return;
    const freed = [...place.freed];
    place.freed.clear();
    const remove = async () => {
      for (const [sha256, isCopied] of freed) await this.#endUnused(owner, sha256, isCopied);
    };
    const removed = place.removing.then(remove);
    place.removing = removed.catch(() => {});
    await removed;
  }

  /** Removes what has ended: files of quotes and runs, copies of them, and what killed processes left. */
  async sweep(): Promise<void> {
    const { show, now } = this.#parts;
    const gone: { readonly owner: string; readonly sha256: string }[] = [];
    for await (const { owner, sha256, ageMs } of this.#all()) {
      const { endedAt } = await this.#kept(owner, sha256);
      if (endedAt === null) {
        if (ageMs > SWEEP_MS) await this.#endUnused(owner, sha256, true);
      } else if (endedAt + COPIES_MS <= now()) gone.push({ owner, sha256 });
    }
    if (gone.length === 0) return;
    await discardUnnamed(show.journal, show.media, new Set(gone.map(({ sha256 }) => sha256)));
    for (const { owner, sha256 } of gone) {
      if ((await this.#kept(owner, sha256)).endedAt === null) continue;
      await rm(this.#folderOf(owner, sha256), { recursive: true, force: true });
      await this.#count(owner, sha256);
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
    if (runs.length > 0 || sizeBytes === 0) return;
    sizes.set(sha256, sizeBytes);
    this.#shares.add(owner, sizeBytes);
  }

  #place(owner: string): Place {
    const place = this.#places.get(owner) ?? {
      sizes: new Map(),
      freed: new Map(),
      receiving: 0,
      removing: Promise.resolve(),
    };
    this.#places.set(owner, place);
    return place;
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
    const path = await this.#files.receive(this, sent);
    this.#paths.add(path);
    // One of several that are fetched may come after another one led to the refusal.
    if (this.#isAnswered) await this.release();
    return path;
  }

  /** They are kept until a quote ends, or as long as there is the run; `named`: those of them. */
  async keepFor(
    use: { readonly until: number } | { readonly run: string },
    named: ReadonlySet<string> = this.#paths,
  ): Promise<void> {
    for (const path of this.#paths) if (named.has(path)) await this.#files.mark(this.owner, shaOf(path), use);
  }

  async release(): Promise<void> {
    this.#isAnswered = true;
    if (this.#paths.size > 0) await this.#files.release(this, [...this.#paths].map(shaOf));
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
