import { EventEmitter, once } from "node:events";
import type { RunHandle } from "../../../internal.ts";

/** Runs that this dashboard drives, and errors of runs that it drove. */
export class Drivers {
  readonly #driven = new Set<string>();
  readonly #errors = new Map<string, string>();
  readonly #changes = new EventEmitter().setMaxListeners(0);

  /** Settles when this dashboard starts or stops driving the run, or the signal aborts. */
  async changed(runId: string, signal: AbortSignal): Promise<void> {
    await once(this.#changes, nameOf(runId), { signal }).catch(() => {});
  }

  isDriving(runId: string): boolean {
    return this.#driven.has(runId);
  }

  error(runId: string): string | null {
    return this.#errors.get(runId) ?? null;
  }

  /**
   * Resolves once the run has started, which `begins` detects; rejects if it could not start, for example because of
   * another process's lease.
   */
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

/** Prefixes the id, because a run may be called `error`, which is a special event name. */
const nameOf = (runId: string) => `run ${runId}`;
