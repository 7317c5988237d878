import { type JournalStore, type MediaStore, type Pipeline, type Showrunner, ShowrunnerError } from "../../internal.ts";
import type { EventStream } from "./http/answer.ts";
import type { GaugeReader } from "./live/gauges.ts";
import type { WatchParts } from "./live/run-watch.ts";

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
  /** Unique name shown on the page, such as `recipes/talking-avatar.ts#default`. */
  readonly name: string;
  readonly pipeline: Pipeline;
  /** File and export of the code, stored with the run for `resume`. Null if the pipeline is not from a file. */
  readonly source: { readonly file: string; readonly exportName: string } | null;
}

type ShownMedia = Pick<MediaStore, "sizeOf" | "read" | "link" | "linkOrigin">;

export interface DashboardOptions {
  /** The engine that drives the runs. It stays open when the dashboard closes. */
  readonly show: Showrunner;
  /**
   * Returns a replacement for `lost`, whose local service has ended, and closes `lost`. Default: `show` is not
   * replaced.
   */
  readonly reopen?: ((lost: Showrunner) => Promise<Showrunner>) | undefined;
  readonly journal: JournalStore;
  readonly media: ShownMedia;
  /** Port to listen on. Default: 0, any free port. */
  readonly port?: number | undefined;
  /**
   * Address to listen on. Any address except the default lets other machines see and control runs. Default:
   * `127.0.0.1`.
   */
  readonly host?: string | undefined;
  /** Further names or addresses, without ports, under which browsers reach the dashboard. Default: none. */
  readonly allowHosts?: readonly string[] | undefined;
  /**
   * Public origin of review links, such as `https://review.example.com`. Nothing else is served there. A proxy must
   * keep the `Host` header of requests. Default: links point to this machine.
   */
  readonly publicUrl?: string | undefined;
  /** Token that opens the dashboard, with at least 16 characters. Default: a new random token at each start. */
  readonly token?: string | undefined;
  /** Token for read-only access. Default: none. */
  readonly viewerToken?: string | undefined;
  readonly pipelines?: readonly OfferedPipeline[] | undefined;
  /**
   * Folder for input files picked in the browser, which are kept so that runs can be resumed. Default: picking is
   * disabled.
   */
  readonly pickedDir?: string | undefined;
  /**
   * Loads a run's code, to compare it with the run's plan. Returns null if the code no longer exists. Default: always
   * null.
   */
  readonly loadPipeline?:
    | ((source: { readonly file: string; readonly exportName: string }) => Promise<Pipeline | null>)
    | undefined;
  /** Beginning of the commands that the page shows, such as `npx showrunner`. Default: `showrunner`. */
  readonly launcher?: string | undefined;
  /**
   * Receives unexpected errors. `reference` is the code that a reviewer saw with the error message. Default: writes
   * errors to stderr.
   */
  readonly onDefect?: ((error: unknown, reference?: string) => void) | undefined;
}

export interface Dashboard {
  /** Address of the dashboard, including the token. */
  readonly url: string;
  /** Address for read-only access. Null without `viewerToken`. */
  readonly viewerUrl: string | null;
  readonly origin: string;
  /** Returns the address of a run's page, including the token. */
  runUrl(runId: string): string;
  /** Disconnects all clients and stops the server. Runs that the page started continue in `show`. */
  close(): Promise<void>;
}

export interface DashboardContext extends WatchParts {
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
