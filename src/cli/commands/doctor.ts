import process from "node:process";
import type { Context, ServiceFlags } from "../context.ts";
import { type Finding, failed, fine } from "../doctor/finding.ts";
import { journalFindings } from "../doctor/journal.ts";
import { serviceFindings } from "../doctor/service.ts";
import { type WebhookFlags, webhookTarget } from "../doctor/webhook.ts";
import { ExitCode } from "../exit-code.ts";

export interface DoctorFlags extends ServiceFlags, WebhookFlags {
  readonly json?: boolean;
}

const marks = { ok: "ok  ", fail: "FAIL", unknown: "?   " } as const;

/** `showrunner doctor`: one line a check; exit 1 when one of them fails. What cannot be known from here is said to be so. */
export async function doctor(context: Context, flags: DoctorFlags): Promise<ExitCode> {
  const { output } = context;
  const target = webhookTarget(flags);
  const journal = await journalFindings(context.io, flags);
  // A damaged journal would be opened again, and fail again, on the way to the service.
  const isUsable = journal.every(({ check, state }) => check !== "journal" || state === "ok");
  const findings = [
    fine("node", process.versions.node),
    credential(context, flags),
    ...journal,
    ...(isUsable ? await serviceFindings(context, flags, target) : []),
  ];
  if (flags.json) output.printJson(findings.map((one) => ({ ...one, ok: one.state !== "fail" })));
  else for (const { check, state, detail } of findings) output.print(`${marks[state]}  ${check.padEnd(10)}  ${detail}`);
  for (const { next, state } of findings)
    if (next !== null) output.say(`${state === "fail" ? "Next" : "To know"}: ${next}`);
  return findings.some(({ state }) => state === "fail") ? ExitCode.failed : ExitCode.done;
}

function credential({ io }: Context, flags: ServiceFlags): Finding {
  const hosted = !flags.local && (flags.baseUrl ?? io.env.SHOWRUNNER_BASE_URL);
  if (!hosted) return fine("credential", "none needed: no SHOWRUNNER_BASE_URL, so the local service is used");
  const key = io.env.SHOWRUNNER_API_KEY;
  if (!key) return failed("credential", "SHOWRUNNER_API_KEY is not set", "export SHOWRUNNER_API_KEY=<key_id>:<secret>");
  return fine("credential", key.includes(":") ? `key ${key.split(":")[0]}` : "a token");
}
