import type { Answer } from "./call.ts";
import { Refusal, refuseForNow } from "./refusal.ts";

/** The envelope of what a handler threw. Anything but a refusal is a defect: reported, and answered without its text. */
export function errorAnswer(
  error: unknown,
  traceId: string,
  onDefect: (error: unknown, traceId: string) => void,
): Answer & { readonly is: "json" } {
  if (!(error instanceof Refusal)) onDefect(error, traceId);
  const refusal =
    error instanceof Refusal ? error : refuseForNow("INTERNAL", "Something unexpected went wrong on our side.", 1);
  return {
    is: "json",
    status: refusal.status,
    body: { error: refusal.body, trace_id: traceId },
    headers: refusal.headers,
  };
}
