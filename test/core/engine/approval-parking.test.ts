import fc from "fast-check";
import { expect, test } from "vitest";
import type { Reference } from "../../../src/core/plan/plan.ts";
import { createMemoryJournal, type JournalStore, openShowrunner, type RunResult } from "../../../src/index.ts";
import { builtInCatalog, during, FakePaidService, isFull, newFolder, SimulatedClock } from "../../support/engine.ts";
import { chatStep, runPlan } from "./fixtures/planned-run.ts";

const value = (step: string): Reference => ({ $ref: { step, as: "value", output: 0 } });
const policy = { attempts: 1, maxCostMicros: 5_000, keep: true };
const steps = [
  chatStep(),
  {
    kind: "approve",
    path: "gate",
    needs: ["story"],
    fingerprint: "f1_gate",
    shows: [value("story")],
    choose: false,
    message: null,
    yields: "value",
  },
  chatStep({
    path: "after",
    needs: ["gate"],
    fingerprint: "f1_after",
    input: { messages: [{ role: "user", content: value("gate") as never }] },
    policy,
  }),
] as const;

type Message = "approve" | "stop" | "adopt";
/** At which calls of the driving process to its journal another process writes what. */
type Schedule = readonly { readonly at: number; readonly message: Message }[];

interface Outcome {
  readonly calls: number;
  readonly accepted: ReadonlySet<Message>;
  readonly first: RunResult;
  readonly waiting: readonly string[];
  readonly last: RunResult;
  /** What nobody has taken in the end. */
  readonly left: readonly string[];
}

/** Drives a run that will wait at its gate, while another process writes to the same journal. */
async function explore(schedule: Schedule): Promise<Outcome> {
  const clock = new SimulatedClock();
  const paidService = new FakePaidService({ catalog: builtInCatalog(), says: () => "said" });
  const inner = createMemoryJournal();
  const accepted = new Set<Message>();
  const open = (journal: JournalStore) => openShowrunner({ client: paidService.client(), journal, mediaDir, clock });
  const other = await open(inner);
  let calls = 0;
  const store = watched(inner, async () => {
    const now = calls++;
    for (const { message } of schedule.filter(({ at }) => at === now)) {
      // A decision that nobody asked for yet is refused, and whoever made it is told so.
      if (await write(other, inner, message)) accepted.add(message);
    }
  });
  const show = await open(store);
  const world = { show, journal: inner, outDir: mediaDir };
  const first = await during(clock, (await runPlan(world, steps, { returns: { story: value("after") } })).result());
  const waiting = (await inner.inbox("x")).map(({ message }) => message.type);
  let last = first;
  for (let resumes = 0; last.status === "paused" && resumes < 3; resumes++) {
    const again = await open(inner);
    last = await during(clock, (await again.resume("x")).result());
  }
  const left = (await inner.inbox("x")).map(({ message }) => message.type);
  return { calls, accepted, first, waiting, last, left };
}

const mediaDir = newFolder();

async function write(
  other: Awaited<ReturnType<typeof openShowrunner>>,
  journal: JournalStore,
  message: Message,
): Promise<boolean> {
  if (message === "adopt") {
    await journal.send("x", { type: "adopt", step: "gate", jobId: null }, 0);
    return true;
  }
  const sent = message === "stop" ? other.stop("x") : other.approve("x", "gate");
  return sent.then(
    () => true,
    () => false,
  );
}

/** The journal, with a moment before and after each call at which others may write. */
function watched(inner: JournalStore, moment: () => Promise<void>): JournalStore {
  const looked = new Set(["commit", "inbox", "releaseLease"]);
  return new Proxy(inner, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
      if (typeof method !== "function" || !looked.has(String(name))) return method?.bind?.(target) ?? method;
      return async (...args: unknown[]) => {
        await moment();
        const answer = await method.apply(target, args);
        await moment();
        return answer;
      };
    },
  });
}

function check({ accepted, first, waiting, last, left }: Outcome): void {
  for (const message of accepted) {
    const isTaken = !waiting.includes(message);
    // What the driver took it must have acted on: it may not park as if nothing had been said.
    if (message === "approve" && isTaken) expect(first.pause?.reason).not.toBe("approval");
    // One that waits for a decision rests anyway, and must not be stopped once that comes.
    if (message === "stop" && isTaken && first.status === "paused")
      expect(["stopped", "approval"]).toContain(first.pause?.reason);
  }
  // Whatever was left for later is found by the next process.
  if (last !== first) expect(left).toEqual([]);
  if (accepted.has("approve")) expect(last.status).toBe("succeeded");
  else expect(last.pause?.reason).toBe("approval");
}

test("an approval, a stop and a webhook written at any moment around parking are acted on, now or by who resumes [G36]", async () => {
  const calm = await explore([]);
  expect(calm.first.pause?.reason).toBe("approval");
  let accepted = 0;
  for (const message of ["approve", "stop", "adopt"] as const) {
    for (let at = 0; at < calm.calls; at++) {
      const outcome = await explore([{ at, message }]);
      check(outcome);
      accepted += outcome.accepted.size;
    }
  }
  console.log(`parking: ${calm.calls} moments, ${accepted} messages accepted, none lost`);
  expect(accepted).toBeGreaterThan(2 * calm.calls);
});

test("so are all three in any order", async () => {
  const moment = fc.nat({ max: 12 });
  const schedules = fc.tuple(moment, moment, moment).map(([a, b, c]): Schedule => {
    return [
      { at: a, message: "approve" },
      { at: b, message: "stop" },
      { at: c, message: "adopt" },
    ];
  });
  await fc.assert(
    fc.asyncProperty(schedules, async (schedule) => check(await explore(schedule))),
    { numRuns: isFull ? 100 : 30 },
  );
});
