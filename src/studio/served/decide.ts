import type { Json, Showrunner } from "../../internal.ts";
import { optionalPosition, optionalText } from "./fields.ts";

interface Verdict extends NonNullable<Parameters<Showrunner["approve"]>[2]> {
  readonly approved: boolean;
  readonly pick?: number | undefined;
}

/** Reads a decision. If `value` is present, even if it is null, it replaces the value shown. @throws Refusal 400 */
export function verdictIn(body: Readonly<Record<string, unknown>>, approved: boolean): Verdict {
  const note = optionalText(body, "note", 2000);
  return { approved, note, pick: optionalPosition(body, "pick"), value: body["value"] as Json | undefined };
}

/** Approves or rejects a step. Throws the errors of `approve` and `reject`. */
export function decide(
  show: Pick<Showrunner, "approve" | "reject">,
  runId: string,
  step: string,
  { approved, note, by, ...picked }: Verdict,
): Promise<void> {
  return approved ? show.approve(runId, step, { ...picked, note, by }) : show.reject(runId, step, { note, by });
}
