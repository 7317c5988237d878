import type { RunHandle, RunResult } from "./run-result.ts";
import type { Updates } from "./updates.ts";

/** A run in the background: how it begins, and what a stop, or an abort of the caller's signal, does to it. */
interface Background {
  begin(): Promise<RunResult>;
  stop(): Promise<unknown>;
}

/** The handle of a run that is driven or followed in the background. */
export function runHandle(
  id: string,
  updates: Updates,
  { begin, stop }: Background,
  signal: AbortSignal | undefined,
): RunHandle {
  const onAbort = () => void stop().catch(() => {});
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  const done = begin().finally(() => {
    signal?.removeEventListener("abort", onAbort);
    updates.end();
  });
  done.catch(() => {});
  return {
    id,
    events: () => updates.read(),
    result: () => done,
    stop: async () => {
      await stop();
      await done.catch(() => {});
    },
  };
}
