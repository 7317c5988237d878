import fc from "fast-check";
import { Dispatcher } from "undici";
import { expect, test } from "vitest";
import type { Clock } from "../../../src/core/api/clock.ts";
import { createClient } from "../../../src/core/api/index.ts";
import { statusBody } from "../../support/fake-service.ts";
import { isFull } from "../../support/sample.ts";
import { settle } from "../../support/simulated-clock.ts";

/** What the job tells in its life, in order; the terminal status comes after all of it. */
const life = fc.array(fc.constantFrom("log", "progress"), { maxLength: 8 });

/** One connection that does not reach done, at least not surely. */
const broken = fc.record({
  /** Frames before the resume position that are told again. */
  replay: fc.nat(4),
  /** Every frame comes twice in a row. */
  twice: fc.boolean(),
  /** Share of the bytes that come before the end, in percent; the last frame is mostly torn. */
  share: fc.nat(100),
  pieces: fc.integer({ min: 1, max: 5 }),
  end: fc.constantFrom("clean", "drain", "reset", "silent", "refused", "unreachable"),
});

type Connection = typeof broken extends fc.Arbitrary<infer T> ? T : never;
type PiecesOf = (after: number, plan: Connection) => readonly Buffer[];

const whole: Connection = { replay: 2, twice: true, share: 100, pieces: 5, end: "clean" };

const frame = (event: string, id: number, data: unknown) =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;

/** Long characters, so that pieces of a body end within one. */
const message = (id: number) => `${id}${"🎬".repeat(40)}`;

/** The frames of a life, each under its position from 1 on as its id, and what a reader should make of them. */
function tell(steps: readonly string[]) {
  const progressOf = (count: number) => steps.slice(0, count).filter((step) => step === "progress").length;
  const running = (count: number) => statusBody("IN_PROGRESS", { progress: progressOf(count) / 10 });
  const frames = steps.map((step, index) =>
    step === "progress"
      ? frame("status", index + 1, running(index + 1))
      : frame("log", index + 1, {
          id: index + 1,
          timestamp: "2030-01-01T00:00:00Z",
          level: "info",
          event: "progress",
          message: message(index + 1),
          source: "worker",
          data: {},
        }),
  );
  frames.push(frame("status", steps.length + 1, statusBody("COMPLETED", { progress: 1 })));
  const connection = (after: number, plan: Connection) => {
    const from = Math.max(0, after - plan.replay);
    const told = frames.slice(from).flatMap((text) => (plan.twice ? [text, text] : [text]));
    const text = [frame("status", from, running(from)), ...told, "event: done\ndata: [STREAM_DONE]\n\n"].join("");
    const bytes = Buffer.from(text);
    const kept = bytes.subarray(0, Math.floor((bytes.length * plan.share) / 100));
    const size = Math.max(1, Math.ceil(kept.length / plan.pieces));
    return Array.from({ length: Math.ceil(kept.length / size) }, (_, at) => kept.subarray(at * size, (at + 1) * size));
  };
  const logs = steps.flatMap((step, index) => (step === "log" ? [`${index + 1} ${message(index + 1)}`] : []));
  return { connection, logs };
}

/** A service without sockets: each answer, each piece of a body and each end comes when the scheduler says so. */
class ScheduledService extends Dispatcher {
  readonly resumedAfter: (string | undefined)[] = [];
  underWay = 0;
  readonly #scheduler: fc.Scheduler;
  readonly #plans: readonly Connection[];
  readonly #piecesOf: PiecesOf;

  constructor(scheduler: fc.Scheduler, plans: readonly Connection[], piecesOf: PiecesOf) {
    super();
    this.#scheduler = scheduler;
    this.#plans = plans;
    this.#piecesOf = piecesOf;
  }

  /** True once the connection that is not broken was asked for. */
  get mended(): boolean {
    return this.resumedAfter.length > this.#plans.length;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const headers = new Headers(options.headers as Record<string, string>);
    const after = headers.get("last-event-id") ?? undefined;
    const plan = this.#plans[this.resumedAfter.length] ?? whole;
    this.resumedAfter.push(after);
    void this.#answer(plan, Number(after ?? 0), handler);
    return true;
  }

  async #answer(plan: Connection, after: number, handler: Dispatcher.DispatchHandler): Promise<void> {
    let over = false;
    const fail = (error: Error) => {
      if (over) return;
      over = true;
      this.underWay--;
      handler.onResponseError?.(controller, error);
    };
    const controller: Dispatcher.DispatchController = {
      aborted: false,
      paused: false,
      reason: null,
      abort: fail,
      pause() {},
      resume() {},
    };
    const whenDue = async (act: () => void) => {
      await this.#scheduler.schedule(Promise.resolve());
      if (!over) act();
    };
    const end = () => {
      over = true;
      this.underWay--;
      handler.onResponseEnd?.(controller, {});
    };
    const say = (data: Buffer) => handler.onResponseData?.(controller, data);
    this.underWay++;
    if (plan.end === "unreachable") return whenDue(() => fail(new Error("connect ECONNREFUSED")));
    handler.onRequestStart?.(controller, {});
    const status = plan.end === "refused" ? 503 : 200;
    await whenDue(() => handler.onResponseStart?.(controller, status, { "content-type": "text/event-stream" }));
    if (plan.end !== "refused") for (const piece of this.#piecesOf(after, plan)) await whenDue(() => say(piece));
    if (plan.end === "silent") return;
    if (plan.end === "reset") return whenDue(() => fail(new Error("read ECONNRESET")));
    if (plan.end === "drain") await whenDue(() => say(Buffer.from("\n\nretry: 5\n\n")));
    await whenDue(end);
  }
}

/** Timers that fire when the scheduler says so, early or late; a guard against silence only when `guardMayFire`. */
function scheduledClock(scheduler: fc.Scheduler, guardMayFire: () => boolean) {
  let now = Date.UTC(2030, 0, 1);
  const pending = new Set<object>();
  const clock: Clock = {
    now: () => now,
    setTimer(delayMs, fire, options) {
      const timer = {};
      const at = now + delayMs;
      pending.add(timer);
      const whenDue = () => {
        if (!pending.has(timer)) return;
        if (options?.background && !guardMayFire()) return wait();
        pending.delete(timer);
        now = Math.max(now, at);
        fire();
      };
      const wait = () => void scheduler.schedule(Promise.resolve()).then(whenDue);
      wait();
      return { cancel: () => void pending.delete(timer) };
    },
  };
  return { clock, pending };
}

test("whatever comes first, every log is told once and in order, then the terminal status, then done", async () => {
  const reached = { mended: 0, reconnected: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      life,
      fc.array(broken, { maxLength: 5 }),
      fc.infiniteStream(fc.boolean()),
      fc.infiniteStream(fc.nat(9)),
      async (scheduler, steps, plans, calm, patience) => {
        const { connection, logs } = tell(steps);
        const service = new ScheduledService(scheduler, plans, connection);
        const { clock, pending } = scheduledClock(scheduler, () => !service.mended && patience.next().value === 0);
        const client = createClient({
          baseUrl: "http://service.test/v3",
          apiKey: "k:s",
          dispatcher: service,
          clock,
          random: () => 0.5,
        });
        const toldLogs: string[] = [];
        const told: string[] = [];
        const progress: number[] = [];
        let over = false;
        const reading = (async () => {
          for await (const frame of client.stream("job_1", { maxFruitless: 1_000 })) {
            told.push(frame.type === "status" ? frame.status.status : frame.type);
            if (frame.type === "log") toldLogs.push(`${frame.log.id} ${frame.log.message}`);
            if (frame.type === "status") progress.push(frame.status.progress ?? -1);
            // A consumer is slow as it likes: bytes, ends and timers overtake it.
            await scheduler.schedule(Promise.resolve());
          }
        })().finally(() => {
          over = true;
        });
        reading.catch(() => {});
        for (let turn = 0; !over; turn++) {
          if (scheduler.count() === 0 || calm.next().value) await settle();
          if (over) break;
          if (scheduler.count() === 0 || turn > 5_000) throw new Error("the stream waits for what never comes");
          await scheduler.waitOne();
        }
        await reading;

        expect(toldLogs).toEqual(logs);
        const ending = told.slice(told.indexOf("COMPLETED"));
        // A connection that broke between the two has said all there is to say.
        expect(service.mended ? [["COMPLETED", "done"]] : [["COMPLETED", "done"], ["COMPLETED"]]).toContainEqual(
          ending,
        );
        expect(progress).toEqual([...new Set(progress)].toSorted((a, b) => a - b));
        const resumed = service.resumedAfter.findIndex((id) => id !== undefined);
        if (resumed >= 0) expect(service.resumedAfter.slice(resumed)).not.toContain(undefined);
        if (service.mended) reached.mended++;
        if (resumed >= 0) reached.reconnected++;

        await client.close();
        await settle();
        expect(service.underWay).toBe(0);
        expect(pending.size).toBe(0);
      },
    ),
    { numRuns: isFull ? 4000 : 100 },
  );
  // The property would be empty if streams seldom had to be made anew, or seldom came to a whole connection.
  expect(reached.mended).toBeGreaterThan(40);
  expect(reached.reconnected).toBeGreaterThan(40);
});
