import type { ProbeResult, RenderRequest, RenderResult } from "./contract.ts";
import type { RenderErrorCode } from "./render-error.ts";

/** What a worker is asked to do. `tempPath` is where the bytes are made before they take their place. */
export type Task =
  | { readonly type: "render"; readonly request: RenderRequest; readonly tempPath: string }
  | { readonly type: "probe"; readonly path: string };

/** What each task answers with. */
export interface TaskResults {
  readonly render: RenderResult;
  readonly probe: ProbeResult;
}

/** Worker to pool. `done` and `failed` end the task. */
export type Reply =
  | { readonly type: "progress"; readonly fraction: number }
  | { readonly type: "done"; readonly result: RenderResult | ProbeResult }
  | { readonly type: "failed"; readonly code: RenderErrorCode; readonly message: string };
