/**
 * - `RENDER_ABORTED`: stopped by the caller's signal or by `close()`.
 * - `RENDER_INPUT`: a media input cannot be decoded, or nothing can be rendered from the input.
 * - `RENDER_WORKER_LOST`: the worker thread died (for example out of memory); the next request gets a new one.
 * - `RENDER_FAILED`: anything else, a defect of the renderer.
 */
export type RenderErrorCode = "RENDER_ABORTED" | "RENDER_INPUT" | "RENDER_WORKER_LOST" | "RENDER_FAILED";

/** The only error that {@link Renderer.render} rejects with. */
export class RenderError extends Error {
  readonly code: RenderErrorCode;

  constructor(code: RenderErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "RenderError";
    this.code = code;
  }
}

/** An unusable input, named by its field. */
export function inputError(field: string, reason: string): RenderError {
  return new RenderError("RENDER_INPUT", `${field}: ${reason}`);
}
