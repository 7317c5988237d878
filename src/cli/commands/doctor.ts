import process from "node:process";
import { type Context, type ServiceFlags, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { explainError } from "../explain-error.ts";
import { dollars } from "../text/money.ts";

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** `showrunner doctor`: one line a check; exit 1 when one of them fails. */
export async function doctor(context: Context, flags: ServiceFlags & { readonly json?: boolean }): Promise<ExitCode> {
  const { talk } = context;
  const findings = [
    { check: "node", ok: true, detail: process.versions.node },
    credential(context, flags),
    ...(await serviceFindings(context, flags)),
  ];
  if (flags.json) talk.printJson(findings);
  else
    for (const finding of findings)
      talk.print(`${finding.ok ? "ok  " : "FAIL"}  ${finding.check.padEnd(10)}  ${finding.detail}`);
  return findings.every((finding) => finding.ok) ? ExitCode.done : ExitCode.failed;
}

function credential({ io }: Context, flags: ServiceFlags): Finding {
  const hosted = !flags.local && (flags.baseUrl ?? io.env.SHOWRUNNER_BASE_URL);
  if (!hosted)
    return {
      check: "credential",
      ok: true,
      detail: "none needed: no SHOWRUNNER_BASE_URL, so the local service is used",
    };
  const key = io.env.SHOWRUNNER_API_KEY;
  if (!key) return { check: "credential", ok: false, detail: "SHOWRUNNER_API_KEY is not set" };
  return { check: "credential", ok: true, detail: key.includes(":") ? `key ${key.split(":")[0]}` : "a token" };
}

/** Opening reads the journal, asking for the balance reaches the service. */
async function serviceFindings({ io }: Context, flags: ServiceFlags): Promise<Finding[]> {
  try {
    return await withShowrunner(flags, async (show) => {
      const runs = await show.runs();
      const { balanceMicros, currency } = await show.balance();
      return [
        { check: "journal", ok: true, detail: `${runs.length} runs` },
        { check: "service", ok: true, detail: `${show.service.kind} ${show.service.baseUrl}` },
        { check: "balance", ok: true, detail: `${dollars(balanceMicros)} ${currency}` },
      ];
    });
  } catch (error) {
    const { message } = explainError(error, io.env);
    return [{ check: "service", ok: false, detail: message }];
  }
}
