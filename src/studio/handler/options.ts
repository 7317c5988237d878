import type { Pipeline, Showrunner } from "../../index.ts";
import type { Report, Shares } from "../served/index.ts";
import type { RequestFiles, SentFiles } from "./sent-files.ts";

/** A pipeline that callers can run, with settings that they cannot change. */
export interface Endpoint {
  readonly pipeline: Pipeline;
  /**
   * File and export of the pipeline. Stored with the run, so that a worker can load the code. Default: this process
   * supplies the code.
   */
  readonly source?: { readonly file: string; readonly exportName: string } | undefined;
  /**
   * Files and folders that the pipeline's own code may upload, such as `["assets/"]`, relative to the working folder. A
   * run can always use the files that its caller sent. Default: none.
   */
  readonly files?: readonly string[] | undefined;
  /**
   * Maximum cost of a job whose price is unknown in advance, in US dollars as a decimal string. Default: such jobs are
   * refused.
   */
  readonly maxUnquoted?: string | undefined;
}

/** The caller of a request. */
export interface Caller {
  /**
   * One to seven labels for the caller's runs, such as `{ customer: "acme" }`. The caller can see and control only runs
   * that have all of them.
   */
  readonly tags: { readonly [key: string]: string };
  /**
   * Maximum total cost of the caller's runs, in US dollars as a decimal string. Shared by callers with the same first
   * tag. Default: no limit besides each run's accepted quote.
   */
  readonly budget?: string | undefined;
  /** Whether the caller can make decisions in runs. Default: true. */
  readonly mayDecide?: boolean | undefined;
  /** Name recorded with the caller's decisions. Default: none. */
  readonly name?: string | undefined;
}

/** Options for `createHandler`. */
export interface HandlerOptions {
  /**
   * Pipelines by their names in URLs, such as `film`. If a pipeline's input changes, add the new version under another
   * name, such as `film-v2`.
   */
  readonly pipelines: { readonly [name: string]: Pipeline | Endpoint };
  /** Returns the caller, null for status 401, or a `Response` to send. Not called for media, which have signed URLs. */
  readonly authorize: (request: Request) => Caller | Response | null | Promise<Caller | Response | null>;
  /** Path where the handler is mounted, such as `/api/films`. Default: the root. */
  readonly prefix?: string | undefined;
  /**
   * Key that signs media URLs, at least 16 characters long. All processes must use the same key. Default: a random key,
   * so URLs stop working after a restart.
   */
  readonly secret?: string | undefined;
  /**
   * Folder for files that callers send. A file is kept as long as its run or quote exists. Default: `.showrunner/sent`.
   */
  readonly filesDir?: string | undefined;
  /**
   * Maximum total size, in bytes, of the files in `filesDir` that belong to no run: per caller (default: 1 GiB) and
   * overall (default: 16 GiB). Requests above these limits get status 429 or 503, respectively.
   */
  readonly mostKept?: { readonly caller?: number | undefined; readonly all?: number | undefined } | undefined;
  /**
   * Private origins, in addition to public ones, that URLs in inputs may refer to. See the option `inside` of
   * `openShowrunner`. Default: none.
   */
  readonly inside?: readonly string[] | undefined;
  /** Maximum size of an input with its files, in bytes. Without files, the limit is 1 MiB. Default: 64 MiB. */
  readonly mostBytes?: number | undefined;
  /** Maximum number of event streams per caller. All callers together can have ten times as many. Default: 1,000. */
  readonly mostStreams?: number | undefined;
  /** Engine that executes the runs, such as the pg-boss engine. Default: this process executes them. */
  readonly engine?: { wake(runId: string): Promise<void> } | undefined;
  /**
   * Called with errors whose details are hidden from callers, except failures of a run, which are in the journal.
   * Callers get the `reference` to quote when they report the error. Default: errors are written to stderr.
   */
  readonly onDefect?: ((error: unknown, reference: string) => void) | undefined;
}

/** Handles every request under its prefix, in any server that uses `Request`, such as Hono, Next, Bun or Deno. */
export interface Handler {
  (request: Request): Promise<Response>;
  /** Continues runs that an earlier process left unfinished, and returns their ids. Call this once at startup. */
  resumeDue(): Promise<readonly string[]>;
  /** Ends open streams, so that the server can close. */
  close(): void;
}

export interface Context {
  readonly show: Showrunner;
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  readonly options: HandlerOptions;
  readonly prefix: string;
  readonly secret: string;
  readonly sent: SentFiles;
  readonly memory: Shares;
  readonly quotes: Shares;
  readonly mostBytes: number;
  readonly report: Report;
  readonly mistakes: Map<string, string>;
}

export interface Call {
  readonly context: Context;
  readonly request: Request;
  readonly caller: Caller;
  readonly files: RequestFiles;
  /** Reserves memory until the response is sent. @throws BusyRefusal */
  hold(sizeBytes: number): void;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}
