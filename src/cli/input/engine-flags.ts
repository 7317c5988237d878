import { usageError } from "../cli-error.ts";
import type { Flags } from "../program/flags.ts";

type Misplaced = readonly [flag: string, given: unknown, next: string];

function refuse(misplaced: readonly Misplaced[], where: string): void {
  const found = misplaced.find(([, given]) => given !== undefined && given !== false);
  if (found === undefined) return;
  const [flag, , next] = found;
  throw usageError(`${flag} has no effect ${where}`, next);
}

export function checkWorkerFlags(flags: Flags["worker"]): void {
  if (flags.healthPort === undefined && flags.webhooks === undefined) {
    refuse([["--host", flags.host, "add --health-port 8080"]], "without --health-port or --webhooks");
  }
  const { once } = flags;
  if (flags.engine === undefined || flags.engine === "timers") {
    return refuse([["--engine-url", flags.engineUrl, "add --engine pg-boss"]], "without --engine pg-boss or restate");
  }
  const next = "omit --once and end the worker with SIGTERM, or use showrunner worker --once without --engine";
  refuse([["--once", once, next]], "with --engine pg-boss or restate");
}

export function checkRunFlags(flags: Flags["run"]): void {
  if (flags.engine === undefined) {
    return refuse([["--engine-url", flags.engineUrl, "add --engine pg-boss"]], "without --engine");
  }
  if (flags.detach !== true)
    refuse([["--engine", flags.engine, "add --detach"]], "without --detach: this process drives the run");
  const next = "omit --wait-for-cap: workers continue on their own when the next day begins";
  refuse([["--wait-for-cap", flags.waitForCap, next]], "with --engine");
}
