import type { RunEvent } from "../../../../src/core/journal/events.ts";
import { fold } from "../../../../src/core/journal/fold.ts";
import { ledgerChanges } from "../../../../src/core/journal/record.ts";
import type { RunState } from "../../../../src/core/journal/state.ts";
import type { JournalStore } from "../../../../src/index.ts";
import { createReferenceJournal } from "../../journal/reference-journal.ts";
import type { Flags } from "./flags.ts";
import { isDenial, isOtherBill } from "./half-truths.ts";
import { PaidService, type SimRequest } from "./paid-service.ts";
import { SAMPLE, type SimPlan } from "./plans.ts";
import { ProviderWorld } from "./provider-world.ts";
import { createSimMedia } from "./sim-media.ts";
import { SimMoney } from "./sim-money.ts";
import type { SimProcess } from "./sim-process.ts";
import { SimTime } from "./sim-time.ts";
import { SimTroubles } from "./sim-troubles.ts";
import { kindOf, type RequestKind, type Trouble, troubleText } from "./troubles.ts";

export const RUN = "x";
export const SECRET = "right";

/** What a promise of `docs/internal/guarantees.md` was broken by. */
export class Violation extends Error {}

export interface WorldOptions {
  readonly plan: SimPlan;
  readonly concurrency: number;
  readonly budgetMicros: number | null;
  readonly capMicros: number | null;
  readonly floorMicros: number | null;
  readonly balanceMicros: number;
  readonly billsLateMs: number;
  /** How long slow jobs take, milliseconds. */
  readonly slowMs: number;
  /** How far the service's clock is ahead, milliseconds. */
  readonly skewMs: number;
  /** How far the clocks of the machines are ahead, milliseconds, process after process; empty: all run on one. */
  readonly clocksMs: readonly number[];
  /** Which processes drive the run as an engine does; `mixed`: every other one. */
  readonly slices: "never" | "always" | "mixed";
  readonly flags: Flags;
}

/** What a person said; `chosen`: the asset that was picked, null where nothing is, or is known to be. */
export interface Word {
  readonly approved: boolean;
  readonly chosen: string | null;
}

interface Intent {
  readonly step: string;
  readonly at: number;
  readonly by: SimProcess;
}

/** Longer than any quote is relied on that an earlier driver was given. */
const QUOTE_LIFE_MS = 6 * 60_000;

/** What outlives every process of a run, and what is known of it from outside. */
export class SimWorld {
  readonly options: WorldOptions;
  readonly time = new SimTime();
  readonly service: PaidService;
  readonly elsewhere: ProviderWorld;
  readonly journal: JournalStore;
  readonly media = createSimMedia();
  /** Processes by the lease holder that they are. */
  readonly holders = new Map<string, SimProcess>();
  readonly troubles = new SimTroubles();
  readonly money = new SimMoney(this);
  readonly #log: (readonly [at: number, text: () => string])[] = [];
  broken: Violation | null = null;
  /** Charges above their quotes are to be expected. */
  readonly excess: number[] = [];
  /** Keys whose jobs a person gave up, rightly or not. */
  readonly givenUp = new Set<string>();
  readonly #keyOf = new Map<string, string>();
  /** Jobs that the journal has. */
  readonly knownJobs = new Set<string>();
  /** Paths of jobs that the service has denied once. */
  readonly #denied = new Set<string>();
  /** Jobs whose bills were told as something else that they might be: nobody can know better. */
  readonly misbilled = new Set<string>();
  #drivers = 0;
  #processes = 0;
  /** How far the clock of the only machine was set ahead. */
  machineAheadMs = 0;
  isClockSet = false;
  /** The last words on approvals that were taken while nobody drove the run. */
  readonly words = new Map<string, Word>();
  /** When prices moved, by the true time, and how many processes had begun. */
  readonly priceMoves: { readonly at: number; readonly processes: number }[] = [];
  /** What an estimate said may have been wrong. */
  isMisquoted = false;
  readonly #intents = new Map<string, Intent>();
  budgetMicros: number | null;
  capMicros: number | null;
  /** The step whose change a process is asked for just now, with the first process that knows of it. */
  changing: { readonly step: string; readonly from: number; isListTold: boolean } | null = null;
  /** Requests for reruns by id. */
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

  /** The place of a process that begins among all, and how far its machine's clock is ahead. */
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

  /** What happened, for whoever reads a counterexample. */
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

  /** What goes wrong with this request, by what was armed. */
  trouble(request: SimRequest): Trouble | null {
    const kind = kindOf(request);
    const key = kind === "submit" ? keyOf(request) : null;
    const trouble = this.troubles.with(kind, key);
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

  /** What goes wrong with a request to a provider. */
  armedTrouble(kind: RequestKind): Trouble | null {
    const trouble = this.troubles.next(kind);
    if (trouble !== null) this.note(() => `${kind}: ${troubleText(trouble)}`);
    return trouble;
  }

  perform(request: SimRequest) {
    const before = this.service.jobs.size;
    const answer = this.service.handle(request);
    const key = keyOf(request);
    const what = key === null ? "" : ` ${key.slice(0, 8)}`;
    if (request.method === "POST") this.note(() => `${request.path}${what} served: ${answer.status}`);
    if (this.service.jobs.size > before) this.checkMade(key);
    this.troubles.answered(key, answer.status);
    if (key === null) return answer;
    if (this.service.jobs.size > before) this.#checkWanted(key, request);
    return answer;
  }

  checkMade(key: string | null): void {
    if (key !== null && this.service.jobsByKey.get(key)!.length > 1) this.fail(`key ${key} made a second job`);
    this.money.check();
  }

  /** Nothing is bought on a word that was taken back, nor at a quote of another day. */
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

  /** Whether the request is that of an earlier process, its step changes now, and the service could have said that it made nothing of it. */
  #isOutdated(key: string, { step, by }: Intent): boolean {
    const { changing, service, knownJobs } = this;
    if (changing?.step !== step || by.place >= changing.from || !changing.isListTold) return false;
    const { jobId: own, model } = service.jobOfKey(key)!;
    return [...service.jobs.values()].every(
      (job) => job.model !== model || job.jobId === own || knownJobs.has(job.jobId),
    );
  }

  /** Looks at what a process has just made durable. */
  committed(events: readonly RunEvent[], by: SimProcess): void {
    for (const event of events) {
      if (event.type === "job.submit.intended") {
        this.#keyOf.set(`${event.step}#${event.attempt}`, event.key);
        this.#intents.set(event.key, { step: event.step, at: this.time.now, by });
      }
      this.elsewhere.committed(event);
      if ("jobId" in event && event.jobId != null) this.knownJobs.add(event.jobId);
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
