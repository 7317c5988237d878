import type { MediaStore, Showrunner } from "../index.ts";
import type { EventStream } from "./http/event-stream.ts";
import type { GaugeReader } from "./live/gauges.ts";
import type { WatchParts } from "./live/run-watch.ts";
import type { DashboardOptions, OfferedPipeline } from "./options.ts";
import type { Operator } from "./service/operator.ts";

/** What every route works with. */
export interface DashboardContext extends WatchParts {
  /** The one that works now; another one after `renew`. */
  readonly show: Showrunner;
  /** Replaces `show` when its service has ended and another can be opened. */
  renew(): Promise<void>;
  readonly media: Pick<MediaStore, "path">;
  readonly gauges: GaugeReader;
  readonly pipelines: readonly OfferedPipeline[];
  readonly loadPipeline: NonNullable<DashboardOptions["loadPipeline"]>;
  /** The local service's other side; null where another service is used. */
  operator(): Promise<Operator | null>;
  /** Streams that are open, to be ended when the server closes. */
  readonly streams: Set<EventStream>;
}
