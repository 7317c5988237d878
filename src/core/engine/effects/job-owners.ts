import type { RunState } from "../../journal/state.ts";

/** Jobs of so many attempts are remembered, beside those of the runs at hand. */
const MOST = 50_000;

interface Attempt {
  readonly step: string;
  readonly attempt: number;
}

/** Which attempt each job serves, of the runs that this process drives: a job pays for one request. */
export class JobOwners {
  readonly #owners = new Map<string, string>();
  readonly #known = new WeakSet<RunState>();

  /** True where it is this attempt's from now on; false where it is another's. */
  claim(state: RunState, { step, attempt }: Attempt, jobId: string): boolean {
    this.#note(state);
    const name = ownerName(state, { step, attempt });
    const owner = this.#owners.get(jobId) ?? name;
    this.#owners.set(jobId, owner);
    if (this.#owners.size > MOST) this.#owners.delete(this.#owners.keys().next().value!);
    return owner === name;
  }

  #note(state: RunState): void {
    if (this.#known.has(state)) return;
    this.#known.add(state);
    for (const { path: step, attempts, chats } of Object.values(state.steps)) {
      const named = attempts.map(({ n, jobId, namedJobId = null }) => ({ n, jobId: jobId ?? namedJobId }));
      for (const { n: attempt, jobId } of [...named, ...chats]) {
        if (jobId !== null) this.#owners.set(jobId, ownerName(state, { step, attempt }));
      }
    }
  }
}

function ownerName({ runId }: RunState, { step, attempt }: Attempt): string {
  return JSON.stringify([runId, step, attempt]);
}
