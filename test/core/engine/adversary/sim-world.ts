import { fold, type RunEvent } from "../../../../src/core/journal/events.ts";
import { ledgerChanges } from "../../../../src/core/journal/record.ts";
import type { RunState } from "../../../../src/core/journal/state.ts";
import type { JournalStore } from "../../../../src/index.ts";
import { createReferenceJournal } from "../../journal/reference-journal.ts";
import type { Flags } from "./flags.ts";
import { isDenial, isOtherBill } from "./half-truths.ts";
import { type PaidJob, PaidService, type SimRequest } from "./paid-service.ts";
import { SAMPLE, type SimPlan } from "./plans.ts";
import { ProviderWorld } from "./provider-world.ts";
import { createSimMedia } from "./sim-media.ts";
import { SimMoney } from "./sim-money.ts";
import type { SimProcess } from "./sim-process.ts";
import { SimReads } from "./sim-reads.ts";
import { SimTime } from "./sim-time.ts";
import { SimTroubles } from "./sim-troubles.ts";
import { deniesChat, kindOf, type RequestKind, type Trouble, troubleText } from "./troubles.ts";

export const RUN = "x";
export const SECRET = "right";

/** A violation of a promise in `docs/internal/guarantees.md`. */
export class Violation extends Error {}

export interface WorldOptions {
  readonly plan: SimPlan;
  readonly concurrency: number;
  readonly budgetMicros: number | null;
  readonly capMicros: number | null;
  readonly floorMicros: number | null;
  readonly balanceMicros: number;
  readonly billsLateMs: number;
  /** Duration of slow jobs, in ms. */
  readonly slowMs: number;
  /** How far the service's clock is ahead, in ms. */
  readonly skewMs: number;
  /** How far the machines' clocks are ahead, in ms, one for each process in turn; empty if all run on one machine. */
  readonly clocksMs: readonly number[];
  /** Which processes drive the run in slices, like a durable engine; `mixed`: every second process. */
  readonly slices: "never" | "always" | "mixed";
  readonly flags: Flags;
}

/** A person's decision. `chosen`: the picked asset; null if nothing was picked or the asset is unknown. */
export interface Word {
  readonly approved: boolean;
  readonly chosen: string | null;
}

interface Intent {
  readonly step: string;
  readonly at: number;
  readonly by: SimProcess;
}

/** Longer than a driver uses a quote that an earlier driver received. */
const QUOTE_LIFE_MS = 6 * 60_000;

/** Everything that outlives the processes of a run, and an outside view of the run. */
export class SimWorld {
  readonly options: WorldOptions;
  readonly time = new SimTime();
  readonly service: PaidService;
  readonly elsewhere: ProviderWorld;
  readonly journal: JournalStore;
  readonly media = createSimMedia();
  /** Processes by their lease-holder id. */
  readonly holders = new Map<string, SimProcess>();
  readonly troubles = new SimTroubles();
  readonly money = new SimMoney(this);
  readonly #reads = new SimReads();
  readonly #log: (readonly [at: number, text: () => string])[] = [];
  broken: Violation | null = null;
  /** Expected charges above their quotes. */
  readonly excess: number[] = [];
  /** Keys whose jobs a person gave up, correctly or not. */
  readonly givenUp = new Set<string>();
  readonly #keyOf = new Map<string, string>();
  /** Ids of the jobs in the journal. */
  readonly knownJobs = new Set<string>();
  /** Paths of jobs whose existence the service has denied once. */
  readonly #denied = new Set<string>();
  /** Jobs whose bills were reported with a false but plausible amount, which nobody can detect. */
  readonly misbilled = new Set<string>();
  #drivers = 0;
  #processes = 0;
  /** How far the clock of the only machine was set ahead, in ms. */
  machineAheadMs = 0;
  isClockSet = false;
  /** The last decisions on approvals that were accepted while no process drove the run. */
  readonly words = new Map<string, Word>();
  /** Price changes: the true time, and the number of processes that had started. */
  readonly priceMoves: { readonly at: number; readonly processes: number }[] = [];
  /** True if an estimate may have been wrong. */
  isMisquoted = false;
  readonly #intents = new Map<string, Intent>();
  /** Withdrawn requests: by key, the processes that were asleep and may still finish sending it when they wake. */
  readonly #withdrawn = new Map<string, ReadonlySet<object>>();
  budgetMicros: number | null;
  capMicros: number | null;
  /** The step whose change is requested now, with the first process that knows about the change. */
  changing: { readonly step: string; readonly from: number; isListTold: boolean } | null = null;
  /** Requested reruns: steps by request id. */
  readonly reruns = new Map<string, readonly string[]>();

  constructor(options: WorldOptions) {
    this.options = options;
    this.budgetMicros = options.budgetMicros;
    this.capMicros = options.capMicros;
    this.journal = createReferenceJournal({ now: () => this.time.now });
    this.service = new PaidService({
      now: () => this.time.now + options.skewMs,
      secret: SECRET,
      balanceMicros: options.balanceMicros,
      billsLateMs: options.billsLateMs,
      slowMs: options.slowMs,
      says: "once upon a time",
      flags: options.flags,
    });
    this.elsewhere = new ProviderWorld(this);
  }

  get providers() {
    return this.elsewhere.providers;
  }

  close(): void {
    this.elsewhere.close();
    this.media.close();
  }

  async start(): Promise<void> {
    const { plan, concurrency, budgetMicros } = this.options;
    const first = {
      type: "run.planned",
      program: "1.0.0",
      plan: plan.plan,
      input: {},
      baseUrl: BASE_URL,
      keyId: "key",
      nonce: "nonce",
      budgetMicros,
      maxUnquotedMicros: null,
      limits: { total: concurrency, perModel: {}, perModality: {} },
      quoteMicros: null,
      outDir: "/sim/out",
      manifests: false,
      source: null,
    } as const;
    await this.media.put({ bytes: SAMPLE });
    await this.journal.createRun(RUN, first, this.time.now);
  }

  get isOneMachine(): boolean {
    return this.options.clocksMs.length === 0;
  }

  /** The number of a new process, and how far its machine's clock is ahead. */
  nextProcess(): { readonly place: number; readonly aheadMs: number } {
    const { clocksMs } = this.options;
    const place = this.#processes++;
    return { place, aheadMs: clocksMs[place % clocksMs.length] ?? 0 };
  }

  beginsToChange(step: string): void {
    this.changing = { step, from: this.#processes, isListTold: true };
  }

  movePrices(factor: number): void {
    this.service.priceFactor = factor;
    this.priceMoves.push({ at: this.time.now, processes: this.#processes });
  }

  async state(): Promise<RunState> {
    return fold(await this.journal.read(RUN))!;
  }

  note(text: () => string): void {
    this.#log.push([this.time.now, text]);
  }

  /** A log of the events, for readers of a counterexample. */
  get log(): readonly string[] {
    return this.#log.map(([at, text]) => `${((at - this.time.startedAt) / 1000).toFixed(1)} s  ${text()}`);
  }

  isNextInSlices(): boolean {
    this.#drivers++;
    return this.options.slices === "always" || (this.options.slices === "mixed" && this.#drivers % 2 === 0);
  }

  fail(why: string): void {
    this.note(() => `VIOLATION ${why}`);
    this.broken ??= new Violation(why);
  }

  /** The armed trouble of this request, or null. */
  trouble(request: SimRequest): Trouble | null {
    const kind = kindOf(request);
    const key = kind === "submit" ? keyOf(request) : null;
    const trouble = this.troubles.with(kind, key);
    this.#reads.noteRead(request, trouble, this.time.now, (jobId) => this.service.isOver(jobId));
    if (trouble === null) return null;
    if (trouble.kind === "half truth" && kind === "job" && isDenial(trouble.says)) {
      if (this.#denied.has(request.path)) return null;
      this.#denied.add(request.path);
    }
    if (trouble.kind === "half truth" && kind === "estimate") this.isMisquoted = true;
    if (trouble.kind === "half truth" && isOtherBill(trouble.says)) this.misbilled.add(request.path.split("/")[2]!);
    if (kind === "list" && this.changing !== null) this.changing.isListTold = false;
    this.note(() => `${kind}${key === null ? "" : ` ${key.slice(0, 8)}`}: ${troubleText(trouble)}`);
    return trouble;
  }

  /** The armed trouble of a request to a provider, or null. */
  armedTrouble(kind: RequestKind): Trouble | null {
    const trouble = this.troubles.next(kind);
    if (trouble !== null) this.note(() => `${kind}: ${troubleText(trouble)}`);
    return trouble;
  }

  /** True if a job's outputs are erased, or withheld for so long after their expiry that they had to be given up. */
  isGone(job: PaidJob): boolean {
    return this.service.isGone(job) || this.#reads.isGivenUp(job.jobId);
  }

  perform(request: SimRequest, trouble: Trouble | null, by: SimProcess) {
    const before = this.service.jobs.size;
    const answer = this.service.handle(request);
    const key = keyOf(request);
    // What a process that slept makes of a request that was withdrawn meanwhile, no run knows; `reconcile` lists it.
    const isMade = this.service.jobs.size > before;
    if (isMade && key !== null && this.#withdrawn.get(key)?.has(by) === true) this.givenUp.add(key);
    const what = key === null ? "" : ` ${key.slice(0, 8)}`;
    if (request.method === "POST") this.note(() => `${request.path}${what} served: ${answer.status}`);
    if (isMade && key === null && trouble !== null && deniesChat(trouble))
      this.money.deny([...this.service.jobs.keys()].at(-1)!);
    if (isMade) this.checkMade(key);
    this.troubles.answered(key, answer.status);
    if (key === null) return answer;
    if (isMade) this.#checkWanted(key, request);
    return answer;
  }

  checkMade(key: string | null): void {
    if (key !== null && this.service.jobsByKey.get(key)!.length > 1) this.fail(`key ${key} made a second job`);
    this.money.check();
  }

  /** Checks that a purchase does not rely on a withdrawn decision or an outdated quote. */
  #checkWanted(key: string, { body }: SimRequest): void {
    const intent = this.#intents.get(key);
    if (intent === undefined) return this.fail(`a job was made under ${key}, which the journal does not know`);
    const { step, at, by } = intent;
    const decides = this.options.plan.decides[step];
    const word = decides === undefined ? undefined : this.words.get(decides);
    const used = /"asset_id":"([^"]+)"/.exec(JSON.stringify(body))?.[1] ?? null;
    if (word?.approved === false) this.fail(`${step} was bought although ${decides} was rejected`);
    if (word?.chosen != null && used !== null && used !== word.chosen)
      this.fail(`${step} was bought with ${used} although ${word.chosen} was picked`);
    if (this.#isOutdated(key, intent)) this.fail(`${step} was bought as it was, although its change was asked for`);
    const moved = this.priceMoves.at(-1);
    const { costMicros, excessMicros } = this.service.jobOfKey(key)!;
    const isStale = moved !== undefined && by.place >= moved.processes && at - moved.at > QUOTE_LIFE_MS;
    const isKnowable = !by.isInSlices && !this.isClockSet && !this.isMisquoted;
    if (isStale && isKnowable && this.money.holdOf.get(key)! < costMicros - excessMicros)
      this.fail(`${step} was bought at a price that had moved before its driver began`);
  }

  /** True if an earlier process sent the request, its step is being changed, and the service could have denied the job. */
  #isOutdated(key: string, { step, by }: Intent): boolean {
    const { changing, service, knownJobs } = this;
    if (changing?.step !== step || by.place >= changing.from || !changing.isListTold) return false;
    const { jobId: own, model } = service.jobOfKey(key)!;
    return [...service.jobs.values()].every(
      (job) => job.model !== model || job.jobId === own || knownJobs.has(job.jobId),
    );
  }

  /** Records and checks the events that a process has just committed. */
  committed(events: readonly RunEvent[], by: SimProcess): void {
    for (const event of events) {
      if (event.type === "job.submit.intended") {
        this.#keyOf.set(`${event.step}#${event.attempt}`, event.key);
        this.#intents.set(event.key, { step: event.step, at: this.time.now, by });
        this.#withdrawn.delete(event.key);
      }
      if (event.type === "job.submit.withdrawn") {
        this.#withdrawn.set(this.#keyOf.get(`${event.step}#${event.attempt}`)!, new Set(this.time.frozen));
      }
      this.elsewhere.committed(event);
      // A job that the service named for a request of another model may still belong to a third request.
      const isDisowned = event.type === "job.unresolved" && event.cause === "another's job";
      if ("jobId" in event && event.jobId != null && !isDisowned) this.knownJobs.add(event.jobId);
      this.money.committed(
        event,
        "attempt" in event ? (this.#keyOf.get(`${event.step}#${event.attempt}`) ?? null) : null,
      );
      this.note(() => `journal: ${eventText(event)}`);
    }
    for (const change of ledgerChanges(events)) {
      if (change.type !== "release") continue;
      const key = this.#keyOf.get(`${change.step}#${change.attempt}`);
      if (key === undefined || this.givenUp.has(key)) continue;
      const work = this.elsewhere.madeOf(key);
      if (work !== null && !this.elsewhere.denied.has(work.id)) {
        this.fail(`the hold of ${change.step} is released although ${work.id} was made`);
      }
      if (this.service.jobOfKey(key) === null) continue;
      this.fail(`the hold of ${change.step} is released although ${this.service.jobOfKey(key)!.jobId} was made`);
    }
  }
}

export const BASE_URL = "https://service.test/v3";

export function keyOf({ body }: SimRequest): string | null {
  return (body as { readonly idempotency_key?: string } | null)?.idempotency_key ?? null;
}

function eventText(event: RunEvent): string {
  const { type, ...rest } = event;
  if (type === "run.planned" || type === "lease.acquired") return type;
  const text = JSON.stringify(rest, (name, value) => (name === "input" || name === "outputs" ? undefined : value));
  return `${type} ${text.slice(0, 300)}`;
}
