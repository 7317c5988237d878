import { type JournalStore, type MediaStore, type Pipeline, type Showrunner, ShowrunnerError } from "../../internal.ts";
import type { EventStream } from "./http/answer.ts";
import type { GaugeReader } from "./live/gauges.ts";
import type { WatchParts } from "./live/run-watch.ts";

/** Another program already listens on the dashboard's port. */
export class PortInUseError extends ShowrunnerError {
  readonly code = "DASHBOARD_PORT_IN_USE";
  readonly port: number;
  /** The command to type next. */
  readonly next = "showrunner dashboard --port 0   (picks a free port)";

  constructor(port: number, cause: unknown) {
    super(`Port ${port} is in use by another program; choose another port.`, { cause });
    this.port = port;
  }
}

/** A pipeline that may be planned and started from the page. */
export interface OfferedPipeline {
  /** As the page shows it, e.g. `recipes/talking-avatar.ts#default`; unique. */
  readonly name: string;
  readonly pipeline: Pipeline;
  /** Stored with the run, so that `resume` finds the code again; null if it did not come from a file. */
  readonly source: { readonly file: string; readonly exportName: string } | null;
}

type ShownMedia = Pick<MediaStore, "sizeOf" | "read" | "link" | "linkOrigin">;

export interface DashboardOptions {
  /** Drives the runs that the page starts or resumes. Stays open when the dashboard closes. */
  readonly show: Showrunner;
  /**
   * Opens a replacement for `show` when its local service has ended, for example with the command that embedded it, and closes
   * the old one. Default: no replacement.
   */
  readonly reopen?: ((lost: Showrunner) => Promise<Showrunner>) | undefined;
  /** The journal that `show` uses; other processes may write to it. */
  readonly journal: JournalStore;
  /** The store that contains the bytes of outputs and uploads. */
  readonly media: ShownMedia;
  /** Port to listen on. Default 0: any free port. */
  readonly port?: number | undefined;
  /** Address to listen on. Default `127.0.0.1`; any other exposes runs, and control of them, to other machines. */
  readonly host?: string | undefined;
  /** Other host names and addresses under which browsers reach the dashboard, such as a proxy's, without port. Default none. */
  readonly allowHosts?: readonly string[] | undefined;
  /**
   * Public origin of review links, such as `https://review.example.com`. A proxy there forwards requests with their `Host`.
   * Only review links are answered under that name. Default: links lead to this machine.
   */
  readonly publicUrl?: string | undefined;
  /** Token that the opened address must contain, at least 16 characters. Default: a random one at each start. */
  readonly token?: string | undefined;
  /** Token for read-only access: a viewer sees everything and changes nothing. Default none. */
  readonly viewerToken?: string | undefined;
  /** Pipelines that can be planned and started from the page. Default none. */
  readonly pipelines?: readonly OfferedPipeline[] | undefined;
  /** Folder for input files picked in the browser; kept, so that their runs can be resumed. Default: no files can be picked. */
  readonly pickedDir?: string | undefined;
  /** Loads the code of a run, to compare it with the run's plan; null when it no longer exists. Default: never found. */
  readonly loadPipeline?:
    | ((source: { readonly file: string; readonly exportName: string }) => Promise<Pipeline | null>)
    | undefined;
  /** How commands shown on the page begin. Default `showrunner`. */
  readonly launcher?: string | undefined;
  /**
   * Called for unexpected errors, with the reference shown to the holder of a review link, if any. Default: written to
   * stderr.
   */
  readonly onDefect?: ((error: unknown, reference?: string) => void) | undefined;
}

export interface Dashboard {
  /** Address to open in a browser, with the token. */
  readonly url: string;
  /** Address for read-only access; null without `viewerToken`. */
  readonly viewerUrl: string | null;
  /** Without the token. */
  readonly origin: string;
  /** Returns the address of a run's page, with the token. */
  runUrl(runId: string): string;
  /** Ends streams and stops listening. Runs that were started from the page continue in `show`. */
  close(): Promise<void>;
}

export interface DashboardContext extends WatchParts {
  /** Current instance; `renew` may replace it. */
  readonly show: Showrunner;
  /** Replaces `show` if its service has ended and another one can be opened. */
  renew(): Promise<void>;
  readonly media: ShownMedia;
  readonly gauges: GaugeReader;
  readonly pipelines: readonly OfferedPipeline[];
  readonly pickedDir: string | null;
  readonly loadPipeline: NonNullable<DashboardOptions["loadPipeline"]>;
  readonly streams: Set<EventStream>;
}
