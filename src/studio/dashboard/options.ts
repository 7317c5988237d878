import { type JournalStore, type Pipeline, type Showrunner, ShowrunnerError } from "../../index.ts";
import type { EventStream } from "./http/route.ts";
import type { GaugeReader, WatchParts } from "./runs/watch.ts";

/** Another program is already listening on the dashboard's port. */
export class PortInUseError extends ShowrunnerError {
  readonly code = "DASHBOARD_PORT_IN_USE";
  readonly port: number;
  readonly next = "showrunner dashboard --port 0   (picks a free port)";

  constructor(port: number, cause: unknown) {
    super(`Port ${port} is in use by another program; choose another port.`, { cause });
    this.port = port;
  }
}

export interface OfferedPipeline {
  readonly name: string;
  readonly pipeline: Pipeline;
  /** File and export of the pipeline. Null if the pipeline is not from a file. */
  readonly source: { readonly file: string; readonly exportName: string } | null;
}

type ShownMedia = Pick<Showrunner["media"], "sizeOf" | "read" | "link" | "linkOrigin">;

export interface DashboardOptions {
  /** The Showrunner that starts and changes runs. It stays open when the dashboard closes. */
  readonly show: Showrunner;
  /** Called when the local service of `lost` has ended. Closes `lost` and returns its replacement. */
  readonly reopen?: ((lost: Showrunner) => Promise<Showrunner>) | undefined;
  readonly journal: JournalStore;
  readonly media: ShownMedia;
  readonly port?: number | undefined;
  /** Address to listen on. Default: `127.0.0.1`. Other addresses let other machines see and control runs. */
  readonly host?: string | undefined;
  /** Additional hostnames, without ports, at which browsers can reach the dashboard. */
  readonly allowHosts?: readonly string[] | undefined;
  /** Origin that serves only review links, such as `https://review.example.com`. */
  readonly publicUrl?: string | undefined;
  /** Token for full access, at least 16 characters. Default: a new random token at each start. */
  readonly token?: string | undefined;
  readonly viewerToken?: string | undefined;
  readonly pipelines?: readonly OfferedPipeline[] | undefined;
  /** Folder for input files picked in the browser. Default: picking is disabled. */
  readonly pickedDir?: string | undefined;
  readonly loadPipeline?:
    | ((source: { readonly file: string; readonly exportName: string }) => Promise<Pipeline | null>)
    | undefined;
  /** Prefix of the commands that the page shows. Default: `showrunner`. */
  readonly launcher?: string | undefined;
  /** Called with each unexpected error. `reference` is the code that a reviewer saw with the error message. */
  readonly onDefect?: ((error: unknown, reference?: string) => void) | undefined;
}

export interface Dashboard {
  readonly url: string;
  readonly viewerUrl: string | null;
  readonly origin: string;
  runUrl(runId: string): string;
  /** Closes the dashboard. Runs that were started from it continue. */
  close(): Promise<void>;
}

export interface DashboardContext extends WatchParts {
  readonly show: Showrunner;
  readonly media: ShownMedia;
  readonly gauges: GaugeReader;
  readonly pipelines: readonly OfferedPipeline[];
  readonly pickedDir: string | null;
  readonly loadPipeline: NonNullable<DashboardOptions["loadPipeline"]>;
  readonly onDefect: NonNullable<DashboardOptions["onDefect"]>;
  readonly streams: Set<EventStream>;
}
