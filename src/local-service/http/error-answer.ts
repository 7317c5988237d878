import type { Answer } from "./call.ts";
import { Refusal, refuseForNow } from "./refusal.ts";

export interface ErrorPorts {
  /** An unexpected error; its text never reaches the caller. */
  onDefect(error: unknown, traceId: string): void;
  /** Messages are those of a hosted service. */
  readonly strict: boolean;
}

/** The envelope of what a handler threw. Anything but a refusal is a defect: reported, and answered without its text. */
export function errorAnswer(
  thrown: unknown,
  traceId: string,
  { onDefect, strict }: ErrorPorts,
): Answer & { readonly is: "json" } {
  if (!(thrown instanceof Refusal)) onDefect(thrown, traceId);
  const refusal =
    thrown instanceof Refusal ? thrown : refuseForNow("INTERNAL", "Something unexpected went wrong on our side.", 1);
  const { status, headers } = refusal;
  const error = strict ? refusal.strictBody : refusal.body;
  return { is: "json", status, body: { error, trace_id: traceId }, headers };
}
