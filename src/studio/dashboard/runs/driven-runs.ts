import { EventEmitter, once } from "node:events";
import type { RunHandle } from "../../../index.ts";

export class Drivers {
  readonly #driven = new Set<string>();
  readonly #errors = new Map<string, string>();
  readonly #changes = new EventEmitter().setMaxListeners(0);

  async changed(runId: string, signal: AbortSignal): Promise<void> {
    await once(this.#changes, nameOf(runId), { signal }).catch(() => {});
  }

  isDriving(runId: string): boolean {
    return this.#driven.has(runId);
  }

  error(runId: string): string | null {
    return this.#errors.get(runId) ?? null;
  }

  /** Rejects if driving the run fails before `begins` resolves. */
  async follow(handle: RunHandle, begins: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { id } = handle;
    this.#driven.add(id);
    this.#errors.delete(id);
    this.#tell(id);
    const done = handle.result();
    done
      .catch((error: unknown) => this.#errors.set(id, error instanceof Error ? error.message : String(error)))
      .finally(() => {
        this.#driven.delete(id);
        this.#tell(id);
      });
    const settled = new AbortController();
    const begun = begins(settled.signal).catch(() => {});
    await Promise.race([done, begun]).finally(() => settled.abort());
  }

  #tell(runId: string): void {
    this.#changes.emit(nameOf(runId));
  }
}

// The prefix is needed because a run's id may be `error`, which is a special event.
const nameOf = (runId: string) => `run ${runId}`;
