import { type Client, type Clock, createClient, sleep } from "../../../../src/core/api/index.ts";
import { openNotifications } from "../../../../src/core/engine/notify/notifications.ts";
import { EmbeddedShowrunner } from "../../../../src/core/engine/showrunner/embedded.ts";
import { builtInFamilies } from "../../../../src/core/families/index.ts";
import { fold, type RunEvent } from "../../../../src/core/journal/events.ts";
import type { Lease, LeaseHolder } from "../../../../src/core/journal/store.ts";
import type { JournalStore, ResumeOptions, RunResult, Showrunner } from "../../../../src/index.ts";
import { simModel } from "./sim-models.ts";
import { SimDispatcher } from "./sim-network.ts";
import { LEASE_MS } from "./sim-time.ts";
import { BASE_URL, RUN, SECRET, type SimWorld } from "./sim-world.ts";

export type Ended =
  | { readonly kind: "result"; readonly result: RunResult }
  | { readonly kind: "error"; readonly error: unknown };

/** Maximum number of consecutive wakes of a run that is at rest. */
const MOST_AT_REST = 12;
/**
 * Maximum number of timers in the life of a process; more timers mean an endless loop. A run whose holder sleeps is checked
 * every second, and for 95 minutes if the holder's clock was set back.
 */
const MOST_TIMERS = 8_000;
/** Number of consecutive upkeep timers after which real time passes for pending work. */
const MOST_IDLE = 3;
/** Number of consecutive passes without a timer after which a process is considered to hang. */
const HANGS_AFTER = 2_000;

/** A process on a simulated machine. After its death, none of its pending requests ever settles. */
export class SimProcess {
  readonly show: Showrunner;
  readonly client: Client;
  ended: Ended | null = null;
  isInSlices = false;
  alive = true;
  /** Settles when the frozen process wakes. */
  #woken: Promise<void> = Promise.resolve();
  #wake: () => void = () => {};
  #idle = 0;
  #boundaries = 0;
  #dieAt: number;
  /** Number of submits that the process sends before it dies with an unsent submit. */
  #sendsLeft = Number.POSITIVE_INFINITY;
  readonly place: number;
  readonly #world: SimWorld;
  /** The clock of the process's machine. */
  readonly #clock: Clock;
  /** How far the machine's clock is ahead, and its offset to the database's clock when it was last measured. */
  #aheadMs: number;
  #measuredMs: number;

  constructor(world: SimWorld, { secret = SECRET, dieAt = Number.POSITIVE_INFINITY } = {}) {
    this.#world = world;
    this.#dieAt = dieAt;
    const { place, aheadMs } = world.nextProcess();
    this.place = place;
    this.#aheadMs = aheadMs;
    this.#measuredMs = -this.#aheadMs;
    this.#clock = world.time.clockOf(this, () => this.#aheadMs + world.machineAheadMs);
    const shared: Clock = { ...this.#clock, now: () => this.#clock.now() + this.#measuredMs };
    const { elsewhere } = world;
    const wire = {
      boundary: this.boundary,
      sleep: (ms: number) => sleep(this.#clock, ms),
      asks: elsewhere.asks.bind(elsewhere),
      takes: elsewhere.takes.bind(elsewhere),
      status: elsewhere.status.bind(elsewhere),
      answer: elsewhere.answer.bind(elsewhere),
      lies: elsewhere.lies.bind(elsewhere),
    };
    const dispatcher = new SimDispatcher({
      boundary: this.boundary,
      trouble: (request) => world.trouble(request),
      perform: (request, trouble) => world.perform(request, trouble, this),
      sleep: (ms) => sleep(this.#clock, ms),
      jobIds: () => [...world.knownJobs],
      date: () => new Date(world.time.now + world.options.skewMs).toUTCString(),
    });
    const client = createClient({
      ...{ baseUrl: BASE_URL, apiKey: `key:${secret}`, dispatcher, clock: shared, random: () => 0.5 },
      timeoutMs: 20_000,
      retry: { maxAttempts: 3, maxElapsedMs: 120_000 },
      pace: { maxPerSecond: Number.POSITIVE_INFINITY },
    });
    const { media, capMicros, options } = world;
    this.client = {
      ...client,
      // The store's paths are no paths of this machine's disk.
      upload: (source, how) => client.upload("path" in source ? { bytes: media.bytesAt(source.path) } : source, how),
    };
    this.show = new EmbeddedShowrunner({
      options: {
        ...{ clock: shared, leaseMs: LEASE_MS, follow: "poll" },
        providers: { generate: (model, plan) => simModel(wire, model, plan) },
      },
      limits: {
        caps: { rules: capMicros === null ? [] : [{ capMicros, per: null, tag: null }], timeZone: "UTC" },
        floorMicros: options.floorMicros,
      },
      notifications: openNotifications({ env: {} }),
      families: builtInFamilies,
      store: this.#store(world.journal),
      ownsStore: false,
      media,
      service: { kind: "hosted", client: this.client, origin: BASE_URL, close: async () => {} },
    });
  }

  readonly boundary = async (point: string): Promise<void> => {
    await this.#woken;
    const isUnsent = /^POST \/models\/[^/]+: before$/.test(point) && this.#sendsLeft-- <= 0;
    if (this.alive && ++this.#boundaries < this.#dieAt && !isUnsent) return;
    if (this.alive) this.#world.note(() => `killed at ${point}`);
    this.kill();
    await new Promise<never>(() => {});
  };

  kill(): void {
    this.alive = false;
    this.#world.time.stopAll(this);
  }

  /** Freezes the process like a sleeping machine: nothing continues, and nothing is lost. */
  freeze(): void {
    this.#world.time.frozen.add(this);
    this.#woken = new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  thaw(): void {
    this.#world.time.frozen.delete(this);
    this.#wake();
  }

  /** Sets the clock of the process's machine, which may be the only machine. */
  setClock(byMs: number): void {
    if (this.#world.isOneMachine) this.#world.machineAheadMs += byMs;
    else this.#aheadMs += byMs;
  }

  dieIn(boundaries: number): void {
    this.#dieAt = this.#boundaries + boundaries;
  }

  dieBeforeSubmit(skip: number): void {
    this.#sendsLeft = skip;
  }

  /** Drives the run in the background. `inSlices`: like a durable engine, which holds the run only while work is due. */
  resume(options: ResumeOptions, inSlices: boolean): void {
    const work = async () =>
      inSlices ? this.#slices(options) : (await this.show.resume(RUN, this.#withCode(options))).result();
    this.ended = null;
    this.isInSlices = inSlices;
    work().then(
      (result) => {
        this.ended = { kind: "result", result };
      },
      (error: unknown) => {
        this.ended = { kind: "error", error };
      },
    );
  }

  #withCode(options: ResumeOptions): ResumeOptions {
    const { pipeline } = this.#world.options.plan;
    return pipeline === null || options.pipeline !== undefined ? options : { ...options, pipeline, compare: false };
  }

  /** Drives the run in slices. Some wakes come too early or without a reason; a run at rest is woken only a few times. */
  async #slices(options: ResumeOptions): Promise<RunResult> {
    const { pipeline } = this.#world.options.plan;
    const code = pipeline === null ? {} : { findPipeline: async () => pipeline };
    let slice = await this.show.engine.slice(RUN, { resume: this.#withCode(options), ...code });
    let atRest = 0;
    for (let wakes = 1; slice.wakeAt !== null; wakes++) {
      atRest = slice.status === "running" || slice.status === "busy" ? 0 : atRest + 1;
      if (atRest > MOST_AT_REST) break;
      // As an engine does that looks for what is due.
      this.#measuredMs = -this.#aheadMs;
      const waitMs = Math.max(0, slice.wakeAt - this.#clock.now());
      const { status } = slice;
      this.#world.note(() => `slice: ${status}, due in ${waitMs} ms`);
      await sleep(this.#clock, wakes % 3 === 0 ? waitMs / 2 : waitMs);
      if (wakes % 4 === 0) {
        const step = this.#world.options.plan.paidSteps[wakes % this.#world.options.plan.paidSteps.length]!;
        await this.#world.journal.send(RUN, { type: "hint", step, attempt: 1 }, this.#clock.now());
      }
      slice = await this.show.engine.slice(RUN, code);
    }
    const report = await this.show.show(RUN);
    return { ...report, report } as unknown as RunResult;
  }

  /** Lets time pass until the run rests, the process dies, or it has passed this many boundaries. */
  async live(boundaries = Number.POSITIVE_INFINITY): Promise<void> {
    const until = this.#boundaries + boundaries;
    for (let timers = 0; this.alive && this.ended === null; timers++) {
      await tick();
      if (this.ended !== null || !this.alive || this.#boundaries >= until) return;
      if (timers > MOST_TIMERS) {
        // A person would interrupt a command that waits for such a job before it applies the changes.
        if (await this.#awaitsEndlessJob()) return this.kill();
        return this.#world.fail("the run goes on forever");
      }
      if (!(await this.#pass())) return this.#world.fail("the run hangs: nothing is under way");
    }
  }

  /** True if changes wait for a job that never ends. */
  async #awaitsEndlessJob(): Promise<boolean> {
    const { journal, service } = this.#world;
    const state = fold(await journal.read(RUN));
    return (state?.pause?.replaced ?? []).some((path) => {
      const jobId = state!.steps[path]!.attempts.at(-1)?.jobId ?? "";
      return service.jobs.get(jobId)?.doneAt === Number.POSITIVE_INFINITY;
    });
  }

  /** Executes a short command. Returns the thrown error, or null. */
  async perform(work: (show: Showrunner) => Promise<unknown>): Promise<unknown> {
    let over = false;
    let failure: unknown = null;
    work(this.show).then(
      () => {
        over = true;
      },
      (error: unknown) => {
        over = true;
        failure = error ?? new Error("nothing");
      },
    );
    for (let timers = 0; !over; timers++) {
      await tick();
      if (over) break;
      if (timers > MOST_TIMERS || !(await this.#pass())) {
        this.#world.fail("a command never answers");
        break;
      }
    }
    this.kill();
    return failure;
  }

  /** Fires the next timer. If only upkeep or nothing happens for long, waits for the disk of the real machine. */
  async #pass(): Promise<boolean> {
    const fired = this.#world.time.fireNext();
    this.#idle = fired === "timer" ? 0 : this.#idle + 1;
    if (this.#idle > MOST_IDLE) await new Promise((resolve) => setTimeout(resolve, 1));
    return fired !== null || this.#idle < HANGS_AFTER;
  }

  /** Wraps the journal for this process, with a boundary before and after each commit. */
  #store(inner: JournalStore): JournalStore {
    const world = this.#world;
    return new Proxy(inner, {
      get: (target, name) => {
        if (name === "clockOffsetMs") return world.isOneMachine ? undefined : () => this.#measuredMs;
        const method = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        if (name === "takeLease") {
          return async (runId: string, holder: LeaseHolder, { ttlMs }: { readonly ttlMs: number }) => {
            world.holders.set(holder.instance, this);
            const isDead = ({ instance }: LeaseHolder) => world.holders.get(instance)?.alive !== true;
            return target.takeLease(runId, holder, { at: this.#databaseNow, ttlMs, isDead });
          };
        }
        if (name === "renewLease") {
          return async (lease: Lease, { ttlMs }: { readonly ttlMs: number }) =>
            this.#whileAlive(target.renewLease(lease, { at: this.#databaseNow, ttlMs }));
        }
        if (name !== "commit") return (...args: unknown[]) => this.#whileAlive(method.apply(target, args));
        return async (commit: Parameters<JournalStore["commit"]>[0]) => {
          await this.boundary("commit: before");
          const outcome = await target.commit(commit);
          if (outcome.committed) world.committed(commit.events as readonly RunEvent[], this);
          await this.boundary("commit: after");
          return outcome;
        };
      },
    });
  }

  /** Time of the clock for leases, which all processes with the same journal share. */
  get #databaseNow(): number {
    return this.#world.isOneMachine ? this.#clock.now() : this.#world.time.now;
  }

  #whileAlive<T>(answer: T): T | Promise<never> {
    return this.alive ? answer : new Promise<never>(() => {});
  }
}

function tick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
