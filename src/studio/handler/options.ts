import type { Pipeline, Showrunner } from "../../internal.ts";
import type { Report, Shares } from "../served/index.ts";
import type { RequestFiles, SentFiles } from "./sent-files.ts";

/** A pipeline as an endpoint, with settings that only its author decides. */
export interface Endpoint {
  readonly pipeline: Pipeline;
  /** Where the code is. Stored with the run, so that a worker finds it. Default: this process supplies the code. */
  readonly source?: { readonly file: string; readonly exportName: string } | undefined;
  /**
   * Files and folders from which the pipeline's own code may upload, such as `["assets/"]`, relative to the working
   * folder. Links are resolved. Default: none. A run can always read the files that its caller sent.
   */
  readonly files?: readonly string[] | undefined;
  /** Maximum cost of one job without a quote, in US dollars as a decimal string. Default: such jobs are refused. */
  readonly maxUnquoted?: string | undefined;
}

/** The caller of a request. */
export interface Caller {
  /**
   * Labels for the caller's runs, such as `{ customer: "acme" }`. The caller sees and controls only runs that have all
   * of these labels. One to seven labels are required.
   */
  readonly tags: { readonly [key: string]: string };
  /**
   * Maximum total cost of all runs with the first of `tags`, over all time, in US dollars as a decimal string. It is
   * enforced by the transaction that reserves the money for each job. Default: each start sets its own budget.
   */
  readonly budget?: string | undefined;
  /** Whether the caller can make decisions in runs. Default true. */
  readonly mayDecide?: boolean | undefined;
  /** Name recorded with the caller's decisions. Default: none. */
  readonly name?: string | undefined;
}

/** Options of `createHandler`. */
export interface HandlerOptions {
  /** Pipelines by their names in URLs, such as `film`. If a pipeline's input changes, add `film-v2` beside `film`. */
  readonly pipelines: { readonly [name: string]: Pipeline | Endpoint };
  /** Returns the caller, null for status 401, or a `Response` to send. Not called for media, which have signed URLs. */
  readonly authorize: (request: Request) => Caller | Response | null | Promise<Caller | Response | null>;
  /** Path where the handler is mounted, such as `/api/films`. Default: the root. */
  readonly prefix?: string | undefined;
  /**
   * Key that signs media URLs: at least 16 characters, and the same in every process. Default: a random key at start,
   * so that URLs expire when the process ends.
   */
  readonly secret?: string | undefined;
  /**
   * Folder for files that callers send as input. A run's files are kept as long as the run, so that it can be resumed;
   * a quote's files are kept until the quote expires. Default `.showrunner/sent`.
   */
  readonly filesDir?: string | undefined;
  /**
   * Maximum bytes in `filesDir` that belong to no run, per caller and in total. A request above the first limit is
   * answered with 429, above the second with 503. Default 1 GiB and 16 GiB.
   */
  readonly mostKept?: { readonly caller?: number | undefined; readonly all?: number | undefined } | undefined;
  /** Origins in your own network from which inputs can load files, like `inside` of `openShowrunner`. Default none. */
  readonly inside?: readonly string[] | undefined;
  /** Maximum size of an input with its files, in bytes. Default 64 MiB; an input without files is limited to 1 MiB. */
  readonly mostBytes?: number | undefined;
  /** Maximum open event streams per caller; all callers together can have ten times as many. Default 1,000. */
  readonly mostStreams?: number | undefined;
  /** Engine that drives the runs, such as the pg-boss engine. Default: this process drives them. */
  readonly engine?: { wake(runId: string): Promise<void> } | undefined;
  /**
   * Called with errors that callers do not see: errors of the service, of this machine and of your code, except
   * `CallerError`. Callers can quote `reference`. Default: errors are written to stderr. A run's failures are not
   * reported here; the journal contains them, under the run's id.
   */
  readonly onDefect?: ((error: unknown, reference: string) => void) | undefined;
}

/** Answers every request below its prefix. Works with Hono, Next, Bun, Deno, or any server that uses `Request`. */
export interface Handler {
  (request: Request): Promise<Response>;
  /** Continues runs that an earlier process left unfinished, and returns their ids. Call it once at startup. */
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
  /** Limits the bytes that unanswered requests keep in memory. */
  readonly memory: Shares;
  /** Limits the quotes issued within a day. */
  readonly quotes: Shares;
  readonly mostBytes: number;
  readonly report: Report;
  /** Maps each invalid option that `authorize` returned to the reference under which the mistake was logged. */
  readonly mistakes: Map<string, string>;
}

export interface Call {
  readonly context: Context;
  readonly request: Request;
  readonly caller: Caller;
  readonly files: RequestFiles;
  /** Counts bytes that stay in memory until the request is answered. @throws BusyRefusal */
  hold(sizeBytes: number): void;
  /** Values of the pattern's named segments, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}
