import { type JournalStore, type MediaStore, type Pipeline, type Showrunner, ShowrunnerError } from "../../internal.ts";
import type { EventStream } from "./http/answer.ts";
import type { GaugeReader } from "./live/gauges.ts";
import type { WatchParts } from "./live/run-watch.ts";

/** Another program is already listening on the dashboard's port. */
export class PortInUseError extends ShowrunnerError {
  readonly code = "DASHBOARD_PORT_IN_USE";
  readonly port: number;
  /** A command to run next. */
  readonly next = "showrunner dashboard --port 0   (picks a free port)";

  constructor(port: number, cause: unknown) {
    super(`Port ${port} is in use by another program; choose another port.`, { cause });
    this.port = port;
  }
}

/** A pipeline that can be planned and started from the page. */
export interface OfferedPipeline {
  /** Name shown on the page, such as `recipes/talking-avatar.ts#default`; must be unique. */
  readonly name: string;
  readonly pipeline: Pipeline;
  /** Where the code is. Stored with the run, so that `resume` finds it; null if the pipeline is not from a file. */
  readonly source: { readonly file: string; readonly exportName: string } | null;
}

type ShownMedia = Pick<MediaStore, "sizeOf" | "read" | "link" | "linkOrigin">;

export interface DashboardOptions {
  /** Drives the runs that the page starts or resumes. Stays open when the dashboard closes. */
  readonly show: Showrunner;
  /**
   * Called when the local service of `show` has ended, for example with the command that embedded it. Opens a
   * replacement and closes `lost`. Default: no replacement.
   */
  readonly reopen?: ((lost: Showrunner) => Promise<Showrunner>) | undefined;
  /** The journal that `show` uses; other processes may write to it. */
  readonly journal: JournalStore;
  /** The store that contains the bytes of outputs and uploads. */
  readonly media: ShownMedia;
  /** Port to listen on. Default 0: any free port. */
  readonly port?: number | undefined;
  /** Address to listen on. Default `127.0.0.1`; any other address lets other machines see and control runs. */
  readonly host?: string | undefined;
  /** Further names or addresses, without ports, under which browsers reach the dashboard. Default none. */
  readonly allowHosts?: readonly string[] | undefined;
  /**
   * Public origin of review links, such as `https://review.example.com`, where a proxy forwards requests with their
   * `Host` header. Under that name, only review links are answered. Default: links lead to this machine.
   */
  readonly publicUrl?: string | undefined;
  /** Token that opens the dashboard; at least 16 characters. Default: a new random token at each start. */
  readonly token?: string | undefined;
  /** Token for read-only access: a viewer sees everything, but cannot change anything. Default none. */
  readonly viewerToken?: string | undefined;
  /** Pipelines that can be planned and started from the page. Default none. */
  readonly pipelines?: readonly OfferedPipeline[] | undefined;
  /** Folder for input files picked in the browser, kept so that runs can be resumed. Default: picking is disabled. */
  readonly pickedDir?: string | undefined;
  /** Loads a run's code, to compare it with the run's plan; null if the code no longer exists. Default: always null. */
  readonly loadPipeline?:
    | ((source: { readonly file: string; readonly exportName: string }) => Promise<Pipeline | null>)
    | undefined;
  /** First part of the commands shown on the page. Default `showrunner`. */
  readonly launcher?: string | undefined;
  /**
   * Called with unexpected errors. If a person with a review link was shown a reference for the error, `reference`
   * is set. Default: errors are written to stderr.
   */
  readonly onDefect?: ((error: unknown, reference?: string) => void) | undefined;
}

export interface Dashboard {
  /** Address to open in a browser, including the token. */
  readonly url: string;
  /** Address for read-only access; null without `viewerToken`. */
  readonly viewerUrl: string | null;
  /** Address without the token. */
  readonly origin: string;
  /** Returns the address of a run's page, including the token. */
  runUrl(runId: string): string;
  /** Ends streams and stops listening. Runs started from the page continue in `show`. */
  close(): Promise<void>;
}

export interface DashboardContext extends WatchParts {
  /** The current instance, which `renew` may replace. */
  readonly show: Showrunner;
  /** Replaces `show` if its service has ended and another can be opened. */
  renew(): Promise<void>;
  readonly media: ShownMedia;
  readonly gauges: GaugeReader;
  readonly pipelines: readonly OfferedPipeline[];
  readonly pickedDir: string | null;
  readonly loadPipeline: NonNullable<DashboardOptions["loadPipeline"]>;
  readonly streams: Set<EventStream>;
}
