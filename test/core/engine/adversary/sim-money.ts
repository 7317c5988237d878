import type { RunEvent } from "../../../../src/core/journal/events.ts";
import type { SimWorld } from "./sim-world.ts";

/** A charge of the service or of a provider. */
interface Charge {
  readonly key: string | null;
  readonly costMicros: number;
  readonly excessMicros: number;
  readonly netMicros: number;
  /** True if the cost is reported late or never. */
  readonly isBilledLate: boolean;
}

const UNKNOWN_COST: ReadonlySet<RunEvent["type"]> = new Set(["job.unresolved", "job.bill.impossible"]);
const KNOWN_COST: ReadonlySet<RunEvent["type"]> = new Set(["job.submitted", "job.adopted", "job.found", "job.settled"]);

/** The charges of a world's service and providers, and which of them a run could know. */
export class SimMoney {
  readonly holdOf = new Map<string, number>();
  /** Keys whose outcome or cost is unknown. */
  readonly #unbilled = new Set<string>();
  /** Keys of jobs that took longer than their steps wait. Such a job leaves its slot to another one before it is billed. */
  readonly #overdue = new Set<string>();
  /** Ids of chats that the service charged for, although it answered that nothing was done. */
  readonly #denied = new Set<string>();
  readonly #world: SimWorld;

  constructor(world: SimWorld) {
    this.#world = world;
  }

  /** Records a committed event. `key`: the key of its attempt. */
  committed(event: RunEvent, key: string | null): void {
    if (event.type === "job.submit.intended") this.holdOf.set(event.key, event.holdMicros);
    if (key === null) return;
    if (event.type === "step.overdue") this.#overdue.add(key);
    if (UNKNOWN_COST.has(event.type)) this.#unbilled.add(key);
    if (KNOWN_COST.has(event.type)) this.#unbilled.delete(key);
  }

  deny(jobId: string): void {
    this.#denied.add(jobId);
  }

  /** Checks that charges stay within budget, cap and floor, except for charges that a run could not know. */
  check(): void {
    const world = this.#world;
    const { floorMicros, billsLateMs, concurrency } = world.options;
    const { balanceMicros } = world.service;
    const believed = [...world.service.jobs.values()].filter(({ jobId }) => !this.#denied.has(jobId));
    const ofService = believed.map((job) => ({
      ...job,
      netMicros: world.service.netMicros(job),
      isBilledLate: billsLateMs > 0,
    }));
    const ofProviders = [...world.providers.works.values()].map((work) => ({
      ...work,
      netMicros: work.costMicros,
      isBilledLate: !work.isCostTold,
    }));
    const jobs: readonly Charge[] = [...ofService, ...ofProviders];
    // What a person gave up is no reservation any more, whatever it really cost.
    const counting = jobs.filter((job) => job.key === null || !world.givenUp.has(job.key));
    const chargedMicros = counting.reduce((sum, { netMicros }) => sum + netMicros, 0);
    const reserved = ({ key, costMicros, excessMicros }: Charge) =>
      key === null ? costMicros - excessMicros : (this.holdOf.get(key) ?? costMicros);
    const isUnbilled = ({ key, isBilledLate }: Charge) => isBilledLate || (key !== null && this.#unbilled.has(key));
    const excesses = jobs
      .map((job) => ({ micros: Math.max(0, job.costMicros - reserved(job)), isUnbilled: isUnbilled(job) }))
      .sort((a, b) => b.micros - a.micros);
    // What was on the service when the first charge above its quote became known; a bill that is late, or of a job that
    // nobody can tell for the step's own, tells nobody.
    const unawares = (concurrency + this.#overdue.size) * (1 + world.priceMoves.length);
    const billed = excesses.filter((one) => !one.isUnbilled).slice(0, unawares);
    const excess = [...excesses.filter((one) => one.isUnbilled), ...billed].reduce(
      (sum, { micros }) => sum + micros,
      0,
    );
    for (const [name, most] of [
      ["budget", world.budgetMicros],
      ["cap", world.capMicros],
    ] as const) {
      if (most !== null && chargedMicros - excess > most)
        world.fail(`${chargedMicros} charged beyond the ${name} of ${most}`);
    }
    if (floorMicros !== null && balanceMicros + excess < floorMicros)
      world.fail(`the wallet holds ${balanceMicros}, below its floor of ${floorMicros}`);
  }
}
