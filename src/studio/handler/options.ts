import type { Pipeline, Showrunner } from "../../internal.ts";
import type { Report, Shares } from "../served/index.ts";
import type { RequestFiles, SentFiles } from "./sent-files.ts";

/** A pipeline as an endpoint, with what only its author decides. */
export interface Endpoint {
  readonly pipeline: Pipeline;
  /** Kept with the run, so that a worker finds its code. Default: this process supplies it. */
  readonly source?: { readonly file: string; readonly exportName: string } | undefined;
  /**
   * Files and folders that the pipeline's own code may upload from, such as `["assets/"]`, links resolved; relative to the working folder.
   * Default: none. What a caller sends can be read by its own run in any case, and nothing else.
   */
  readonly files?: readonly string[] | undefined;
  /** The most that one job without a quote may cost, a decimal of US dollars. Default: such jobs are refused. */
  readonly maxUnquoted?: string | undefined;
}

/** Who calls, and what is theirs. */
export interface Caller {
  /**
   * Labels that the caller's runs carry, such as `{ customer: "acme" }`. The caller sees and steers the runs that carry all
   * of them, and no other run exists for them. At least one, at most seven.
   */
  readonly tags: { readonly [key: string]: string };
  /**
   * The most that all runs with the first of these tags may cost together, over all time, a decimal of US dollars; kept in the
   * transaction that reserves money for a submit. Default: each start names a budget of its own.
   */
  readonly budget?: string | undefined;
  /** Whether decisions of runs are theirs to make. Default true. */
  readonly mayDecide?: boolean | undefined;
  /** Who they are, for the journal of decisions. Default: not said. */
  readonly name?: string | undefined;
}

/** Options of `createHandler`. */
export interface HandlerOptions {
  /** What may be run, by the name that it has in addresses: `film`, and `film-v2` beside it once it asks for other input. */
  readonly pipelines: { readonly [name: string]: Pipeline | Endpoint };
  /** Who calls: null is answered with 401; a `Response` is sent as it is. Called for everything but media, whose addresses are signed. */
  readonly authorize: (request: Request) => Caller | Response | null | Promise<Caller | Response | null>;
  /** Where it is mounted, such as `/api/films`. Default: at the root. */
  readonly prefix?: string | undefined;
  /**
   * Signs the addresses of media; at least 16 characters, the same in every process. Default: made up at the start, so that
   * addresses end with the process.
   */
  readonly secret?: string | undefined;
  /**
   * Folder for files that callers send as input. Those of a run are kept with it, so that it can be resumed; those of a quote until it
   * expires. Default `.showrunner/sent`.
   */
  readonly filesDir?: string | undefined;
  /**
   * Bytes of files in `filesDir` that belong to no run: of one caller, and of all. A caller above gets 429; while all together have too much, 503.
   * Default 1 GiB and 16 GiB.
   */
  readonly mostKept?: { readonly caller?: number | undefined; readonly all?: number | undefined } | undefined;
  /** Origins in your own network that inputs may name files at, as `inside` of `openShowrunner`. Default none. */
  readonly inside?: readonly string[] | undefined;
  /** Largest input with its files, bytes. Default 64 MiB; an input without files may have 1 MiB. */
  readonly mostBytes?: number | undefined;
  /** Open streams of events of one caller; all callers together have ten times as many. Default 1,000. */
  readonly mostStreams?: number | undefined;
  /** What drives the runs, such as that of pg-boss. Default: this process. */
  readonly engine?: { wake(runId: string): Promise<void> } | undefined;
  /**
   * Called with what callers do not read: errors of the service, of this machine, and of code other than `CallerError`. Callers
   * may quote the reference. Default: written to stderr. What becomes of a run is in its journal, under its id.
   */
  readonly onDefect?: ((error: unknown, reference: string) => void) | undefined;
}

/** Answers every request below its prefix; for Hono, Next, Bun, Deno and all that know `Request` and `Response`. */
export interface Handler {
  (request: Request): Promise<Response>;
  /** Continues the runs of these pipelines that an earlier process left; call it once at the start. Answers their ids. */
  resumeDue(): Promise<readonly string[]>;
  /** Ends open streams, so that a server can close. */
  close(): void;
}

export interface Context {
  readonly show: Showrunner;
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  readonly options: HandlerOptions;
  readonly prefix: string;
  readonly secret: string;
  readonly sent: SentFiles;
  /** Bytes that pending requests hold in memory. */
  readonly memory: Shares;
  /** Quotes of a day. */
  readonly quotes: Shares;
  readonly mostBytes: number;
  readonly report: Report;
  /** References under which mistakes of `authorize` were logged, by the option that was wrong. */
  readonly mistakes: Map<string, string>;
}

export interface Call {
  readonly context: Context;
  readonly request: Request;
  readonly caller: Caller;
  readonly files: RequestFiles;
  /** Counts bytes that are in memory until the request is answered. @throws BusyRefusal */
  hold(sizeBytes: number): void;
  /** Parts of the path that the pattern names, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}
