import type { ProbeResult, RenderRequest, RenderResult } from "./contract.ts";
import type { RenderErrorCode } from "./render-error.ts";

/** A worker's task. `tempPath` is where the bytes are written before they are renamed. */
export type Task =
  | { readonly type: "render"; readonly request: RenderRequest; readonly tempPath: string }
  | { readonly type: "probe"; readonly path: string };

/** The result of each task. */
export interface TaskResults {
  readonly render: RenderResult;
  readonly probe: ProbeResult;
}

/** Worker to pool. `done` and `failed` end the task. */
export type Reply =
  | { readonly type: "progress"; readonly fraction: number }
  | { readonly type: "done"; readonly result: RenderResult | ProbeResult }
  | { readonly type: "failed"; readonly code: RenderErrorCode; readonly message: string };
