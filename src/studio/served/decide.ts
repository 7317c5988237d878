import type { Json, Showrunner } from "../../index.ts";
import { optionalPosition, optionalText } from "./fields.ts";

interface Verdict extends NonNullable<Parameters<Showrunner["approve"]>[2]> {
  readonly approved: boolean;
  readonly pick?: number | undefined;
}

/** A `value` of null also replaces the value shown. */
export function verdictIn(body: Readonly<Record<string, unknown>>, approved: boolean): Verdict {
  const note = optionalText(body, "note", 2000);
  return { approved, note, pick: optionalPosition(body, "pick"), value: body["value"] as Json | undefined };
}

export function decide(
  show: Pick<Showrunner, "approve" | "reject">,
  runId: string,
  step: string,
  { approved, note, by, ...picked }: Verdict,
): Promise<void> {
  return approved ? show.approve(runId, step, { ...picked, note, by }) : show.reject(runId, step, { note, by });
}
