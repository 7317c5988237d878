import type { RunHandle } from "../../index.ts";

/** Runs that this dashboard drives, and what went wrong with those that it drove. */
export class Drivers {
  readonly #driven = new Set<string>();
  readonly #trouble = new Map<string, string>();

  isDriving(runId: string): boolean {
    return this.#driven.has(runId);
  }

  trouble(runId: string): string | null {
    return this.#trouble.get(runId) ?? null;
  }

  /** Settles once the run is under way; rejects with what kept it from starting, such as another process's hold on it. */
  async follow(handle: RunHandle): Promise<void> {
    const { id } = handle;
    this.#driven.add(id);
    this.#trouble.delete(id);
    const done = handle.result().finally(() => this.#driven.delete(id));
    done.catch((error: unknown) => this.#trouble.set(id, error instanceof Error ? error.message : String(error)));
    const events = handle.events()[Symbol.asyncIterator]();
    const first = await events.next();
    await events.return?.();
    if (first.done === true) await done;
  }
}
