import { CliError } from "../cli-error.ts";

/** A flag that means nothing beside others: its name, whether it was given, and what to do instead. */
type Misplaced = readonly [flag: string, given: unknown, next: string];

/** Refuses flags that would otherwise be ignored. */
function refuse(misplaced: readonly Misplaced[], where: string): void {
  const found = misplaced.find(([, given]) => given !== undefined && given !== false);
  if (found === undefined) return;
  const [flag, , next] = found;
  throw new CliError("USAGE", `${flag} means nothing ${where}`, { next });
}

const RESUMED = "showrunner resume RUN   once the wallet is filled";

/** Flags of `worker` that belong to the other way of driving runs. */
export function checkWorkerFlags(flags: {
  readonly engine?: unknown;
  readonly engineUrl?: unknown;
  readonly pipelines?: unknown;
  readonly slices?: unknown;
  readonly localWork?: unknown;
  readonly drain?: unknown;
  readonly once?: unknown;
  readonly waitForFunds?: unknown;
  readonly schedules?: unknown;
  readonly host?: unknown;
  readonly healthPort?: unknown;
  readonly webhooks?: unknown;
}): void {
  if (flags.healthPort === undefined && flags.webhooks === undefined) {
    refuse([["--host", flags.host, "add --health-port 8080"]], "without --health-port or --webhooks");
  }
  if (flags.schedules !== undefined) {
    refuse(
      [["--once", flags.once, "leave out --once: schedules go on until the worker is stopped"]],
      "with --schedules",
    );
  }
  if (flags.engine !== undefined) {
    const once = "showrunner worker --once   drives what could go on without an engine; SIGTERM ends this one";
    return refuse(
      [
        ["--once", flags.once, once],
        ["--wait-for-funds", flags.waitForFunds, RESUMED],
      ],
      "with --engine: a run that rests holds no worker",
    );
  }
  const { engineUrl, pipelines, slices, localWork, drain } = flags;
  const given = Object.entries({ "--engine-url": engineUrl, "--pipelines": pipelines, "--slices": slices });
  const more = Object.entries({ "--local-work": localWork, "--drain": drain });
  const next = "add --engine timers, or --engine pg-boss";
  refuse(
    [...given, ...more].map(([flag, value]) => [flag, value, next]),
    "without --engine",
  );
}

/** Flags of `run` that say who drives it. */
export function checkRunFlags(flags: {
  readonly engine?: unknown;
  readonly engineUrl?: unknown;
  readonly detach?: unknown;
  readonly waitForCap?: unknown;
}): void {
  if (flags.engine === undefined) {
    return refuse([["--engine-url", flags.engineUrl, "add --engine pg-boss"]], "without --engine");
  }
  if (flags.detach !== true)
    refuse([["--engine", flags.engine, "add --detach"]], "without --detach: this process drives the run");
  const next = "leave it out: the workers go on by themselves once the next day has begun";
  refuse([["--wait-for-cap", flags.waitForCap, next]], "with --engine");
}
