import { usageError } from "../cli-error.ts";
import type { Flags } from "../program/flags.ts";

/** A flag that means nothing beside others: its name, whether it was given, and what to do instead. */
type Misplaced = readonly [flag: string, given: unknown, next: string];

/** Refuses flags that would otherwise be ignored. */
function refuse(misplaced: readonly Misplaced[], where: string): void {
  const found = misplaced.find(([, given]) => given !== undefined && given !== false);
  if (found === undefined) return;
  const [flag, , next] = found;
  throw usageError(`${flag} means nothing ${where}`, next);
}

/** Flags of `worker` that mean nothing beside others. */
export function checkWorkerFlags(flags: Flags["worker"]): void {
  if (flags.healthPort === undefined && flags.webhooks === undefined) {
    refuse([["--host", flags.host, "add --health-port 8080"]], "without --health-port or --webhooks");
  }
  const { once } = flags;
  if (flags.engine === undefined || flags.engine === "timers") {
    return refuse([["--engine-url", flags.engineUrl, "add --engine pg-boss"]], "without an engine of several machines");
  }
  const next = "showrunner worker --once   drives what could continue without an engine; SIGTERM ends this one";
  refuse([["--once", once, next]], "with an engine of several machines");
}

/** Flags of `run` that say who drives it. */
export function checkRunFlags(flags: Flags["run"]): void {
  if (flags.engine === undefined) {
    return refuse([["--engine-url", flags.engineUrl, "add --engine pg-boss"]], "without --engine");
  }
  if (flags.detach !== true)
    refuse([["--engine", flags.engine, "add --detach"]], "without --detach: this process drives the run");
  const next = "leave it out: the workers continue by themselves once the next day has begun";
  refuse([["--wait-for-cap", flags.waitForCap, next]], "with --engine");
}
