import { type JournalStore, type MediaStore, type Pipeline, type Showrunner, ShowrunnerError } from "../../internal.ts";
import type { EventStream } from "./http/answer.ts";
import type { GaugeReader } from "./live/gauges.ts";
import type { WatchParts } from "./live/run-watch.ts";

/** Another program already listens on the dashboard's port. */
export class PortInUseError extends ShowrunnerError {
  readonly code = "DASHBOARD_PORT_IN_USE";
  readonly port: number;
  /** The command to type next. */
  readonly next = "showrunner dashboard --port 0   (takes a free one)";

  constructor(port: number, cause: unknown) {
    super(`Port ${port} is taken by another program; choose another one.`, { cause });
    this.port = port;
  }
}

/** A pipeline that may be planned and started from the page. */
export interface OfferedPipeline {
  /** As the page shows it, e.g. `recipes/avatar.ts#default`; unique. */
  readonly name: string;
  readonly pipeline: Pipeline;
  /** Kept with the run, so that `resume` finds the code again; null when it came from no file. */
  readonly source: { readonly file: string; readonly exportName: string } | null;
}

type ShownMedia = Pick<MediaStore, "sizeOf" | "read" | "link" | "linkOrigin">;

export interface DashboardOptions {
  /** Runs what the page asks for. Stays open when the dashboard closes. */
  readonly show: Showrunner;
  /**
   * Opens another one in place of `show` when its service has ended, as that of a command that embedded it. The
   * one given up is its own to close. Default: what was lost stays lost.
   */
  readonly reopen?: ((lost: Showrunner) => Promise<Showrunner>) | undefined;
  /** The journal that `show` works on; also read while other processes write it. */
  readonly journal: JournalStore;
  /** Where the bytes of outputs and uploads are. */
  readonly media: ShownMedia;
  /** Port to listen on. Default 0, any free one. */
  readonly port?: number | undefined;
  /** Address to listen on. Default `127.0.0.1`; any other shows runs, and lets them be steered, beyond this machine. */
  readonly host?: string | undefined;
  /** Further names and addresses that browsers may reach it by, as behind a proxy, without a port. Default none. */
  readonly allowHosts?: readonly string[] | undefined;
  /**
   * Where review links lead, such as `https://review.example.com`: a name at which a proxy passes requests on to here with their
   * `Host`. Only review links are answered there. Default: links lead to this machine.
   */
  readonly publicUrl?: string | undefined;
  /** What the opened address must hold; at least 16 characters. Default: made up at each start. */
  readonly token?: string | undefined;
  /** Opens it for looking only: a viewer sees everything and changes nothing. Default: there is none. */
  readonly viewerToken?: string | undefined;
  /** Pipelines on offer to plan and start. Default none. */
  readonly pipelines?: readonly OfferedPipeline[] | undefined;
  /** Folder for files that are picked in the browser as input; kept, so that a run from them can be resumed. Default: none can be picked. */
  readonly pickedDir?: string | undefined;
  /** Loads the code of a run, to compare it with the run's plan; null when it no longer exists. Default: never found. */
  readonly loadPipeline?:
    | ((source: { readonly file: string; readonly exportName: string }) => Promise<Pipeline | null>)
    | undefined;
  /** What people type to start the command line, where the page names a command. Default `showrunner`. */
  readonly launcher?: string | undefined;
  /**
   * Called for errors that should not have happened; with a reference where a holder of a review link may quote it. Default: written
   * to stderr.
   */
  readonly onDefect?: ((error: unknown, reference?: string) => void) | undefined;
}

export interface Dashboard {
  /** To be opened in a browser; holds the token. */
  readonly url: string;
  /** Opens it for looking only; null without `viewerToken`. */
  readonly viewerUrl: string | null;
  /** Without the token. */
  readonly origin: string;
  /** Where one run is shown, with the token. */
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
