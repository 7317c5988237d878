import type { ChildProcess } from "node:child_process";
import { createPgBossEngine, type PgBossEngineOptions } from "../../../src/fleet/pg-boss/index.ts";
import { createRestateEngine, type RestateEngineOptions } from "../../../src/fleet/restate/index.ts";
import { createTimersEngine, type Engine } from "../../../src/fleet/worker/index.ts";

/** The specification of an engine that several processes can open, as plain JSON. */
export type EngineSpec =
  | ({ readonly kind: "pg-boss" } & Omit<PgBossEngineOptions, "onError">)
  | ({ readonly kind: "restate" } & Omit<RestateEngineOptions, "onError">)
  | { readonly kind: "timers" };

type OnError = (error: unknown, what: string) => void;

export async function openEngine(spec: EngineSpec, onError?: OnError): Promise<Engine> {
  switch (spec.kind) {
    case "pg-boss":
      return createPgBossEngine({ ...spec, onError });
    case "restate":
      return createRestateEngine({ ...spec, onError });
    case "timers":
      return createTimersEngine({ onError });
  }
}

/** Registers a worker with Restate, which accepts calls only for registered workers. */
export async function makeKnown(spec: EngineSpec): Promise<void> {
  if (spec.kind !== "restate") return;
  const earlier = await openEngine(spec);
  await earlier.process({ slice: async () => null, local: async () => {} }, { slices: 1, local: 1 });
  await earlier.close();
}

export async function killed(child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  return new Promise((resolve) => {
    child.once("exit", resolve);
    child.kill(signal);
  });
}
