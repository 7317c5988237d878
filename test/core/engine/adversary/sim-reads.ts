import { withholdsOutputs } from "./half-truths.ts";
import type { SimRequest } from "./paid-service.ts";
import { kindOf, type Trouble } from "./troubles.ts";

/** How long a client must be refused an expired output before it may give the output up. */
const GIVEN_UP_AFTER_MS = 120_000;
/** Longer than a client waits between two reads of an output that it is refused. */
const LONGEST_WAIT_MS = 65_000;

/** The reads of jobs and files, and the jobs whose expired outputs a client had to give up. */
export class SimReads {
  /** By job: the first and the last of the refused or incomplete reads since a file of it was delivered. */
  readonly #failing = new Map<string, { readonly since: number; readonly lastAt: number }>();
  readonly #givenUp = new Set<string>();

  /** Records a read. `isOver`: true if the job's outputs have expired by the service's clock. */
  noteRead(request: SimRequest, trouble: Trouble | null, at: number, isOver: (jobId: string) => boolean): void {
    const kind = kindOf(request);
    if (kind !== "job" && kind !== "media") return;
    const jobId = request.path.split("/")[2]!;
    if (trouble === null || trouble.kind === "late") {
      // That the service lists an output proves nothing about its file.
      if (kind === "media") this.#failing.delete(jobId);
      return;
    }
    const isRefused = trouble.kind === "answer" && trouble.status >= 300 && trouble.status < 500;
    const isWithheld = trouble.kind === "half truth" && withholdsOutputs(trouble.says);
    if (!isRefused && !isWithheld) return;
    const known = this.#failing.get(jobId);
    const since = known !== undefined && at - known.lastAt <= LONGEST_WAIT_MS ? known.since : at;
    this.#failing.set(jobId, { since, lastAt: at });
    // After this long, a service that refuses an expired output cannot be told from one that has erased it.
    if (at - since >= GIVEN_UP_AFTER_MS && isOver(jobId)) this.#givenUp.add(jobId);
  }

  isGivenUp(jobId: string): boolean {
    return this.#givenUp.has(jobId);
  }
}
