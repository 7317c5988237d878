import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifyNotification, verifyWebhook } from "../../../src/core/api/index.ts";
import {
  type Delivery,
  Notifier,
  noticesOf,
  notifyTarget,
  openNotifications,
  retryAfterMs,
  shownTarget,
} from "../../../src/core/engine/notify/notifications.ts";
import { fold, type RunEvent } from "../../../src/core/journal/events.ts";
import type { Lease } from "../../../src/core/journal/store.ts";
import { createMemoryJournal, type Pipeline } from "../../../src/index.ts";
import { during, type FakeShow, isFull, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { jsonOf, type Received, type Receiver, startReceiver } from "../../support/receiver.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { holder, nobodyIsDead, planned, started } from "../journal/samples.ts";

/** An address with a secret in it. */
const hookOf = ({ url }: Receiver) => `${url}/hook/secret-part`;

const gated = pipelineOf("gated", ({ job, approve }) => {
  const face = job("face", models.image, { prompt: "a lamp" });
  return { fine: approve("fine", face, { message: "Is the lamp lit?" }) };
});

/** Runs it until it rests, and lets go of it: what is to be told is told. */
async function ran(world: FakeShow, of: Pipeline = gated) {
  const result = await world.run(of, {}, { id: "ad-42" });
  await during(world.clock, world.show.close());
  return result;
}

/** What is sent of a run that waits, and the key that it is signed with. */
async function told(receiver: Receiver) {
  const world = await openFakeShow({ notify: hookOf(receiver) });
  const publicKey = await world.show.notifications.publicKey();
  await ran(world);
  return { world, publicKey };
}

function verified(one: Received, publicKey: string) {
  const now = Number(one.headers["x-showrunner-webhook-timestamp"]) * 1000;
  return verifyNotification({ headers: one.headers, body: one.body, publicKey, now });
}

describe("somebody is told by a signed webhook", () => {
  test("that a step waits for them, with the question and the command that answers", async () => {
    await using receiver = await startReceiver();
    const { world, publicKey } = await told(receiver);
    expect(receiver.received).toHaveLength(1);
    const [one] = receiver.received;
    const verdict = verified(one!, publicKey);
    expect(verdict).toMatchObject({
      ok: true,
      notification: {
        ...{ event: "run.waiting", run: "ad-42", pipeline: "gated", reason: "approval", step: "fine" },
        message: "fine is waiting for approval: Is the lamp lit?",
        next: expect.stringContaining("showrunner approve ad-42"),
      },
    });
    expect(one!.headers["x-showrunner-webhook-id"]).toBe(jsonOf(one!).id);
    expect(await world.journal.notices()).toEqual([]);
  });

  test.each([
    ["finished", "succeeded", {}],
    ["failed", "failed", { fails: () => ({ code: "INVALID_ARGUMENT", retryable: false }) }],
  ])("that it %s", async (event, status, more) => {
    await using receiver = await startReceiver();
    const plain = pipelineOf("plain", ({ job }) => ({ face: job("face", models.image, { prompt: "a lamp" }) }));
    await ran(await openFakeShow({ notify: hookOf(receiver), ...more }), plain);
    expect(receiver.received.map(jsonOf)).toMatchObject([{ event: `run.${event}`, status }]);
  });

  test("with our own check of the service's webhooks, which refuses nothing but the body's shape", async () => {
    await using receiver = await startReceiver();
    const { publicKey } = await told(receiver);
    const [{ headers, body }] = receiver.received as [Received];
    const now = Number(headers["x-showrunner-webhook-timestamp"]) * 1000;
    expect(verifyWebhook({ headers, body, publicKey, now })).toEqual({ ok: false, reason: "malformed-body" });
    const changed = Buffer.from(body.toString("utf8").replace("ad-42", "ad-43"));
    expect(verifyNotification({ headers, body: changed, publicKey, now }).ok).toBe(false);
    const late = { headers, body, publicKey, now: now + 300_001 };
    expect(verifyNotification(late)).toEqual({ ok: false, reason: "stale" });
  });

  test("again after every failure, under the same id, until it is acknowledged", async () => {
    await using receiver = await startReceiver((index) => [500, 302, 204][index]!);
    const world = await openFakeShow({ notify: hookOf(receiver) });
    await world.run(gated, {}, { id: "ad-42" });
    await during(world.clock, receiver.arrived(3));
    const ids = receiver.received.map(({ headers }) => headers["x-showrunner-webhook-id"]);
    expect(new Set(ids).size).toBe(1);
    expect(receiver.received.map(({ headers }) => headers["x-showrunner-webhook-attempt"])).toEqual(["1", "2", "3"]);
    await during(world.clock, world.show.close());
    expect(await world.journal.notices()).toEqual([]);
  });

  test("by the next process, when the one that drove the run could not tell it", async () => {
    const journal = createMemoryJournal();
    const dead = await openFakeShow({ notify: "http://127.0.0.1:9/", journal });
    await ran(dead);
    expect(await journal.notices()).toMatchObject([
      { event: "run.waiting", lastError: expect.stringContaining("could not be reached") },
    ]);
    await using receiver = await startReceiver();
    const next = await openFakeShow({ notify: hookOf(receiver), journal, mediaDir: dead.mediaDir });
    next.show.notifications.start();
    await during(next.clock, receiver.arrived(1));
    await during(next.clock, next.show.close());
    expect(await journal.notices()).toEqual([]);
  });
});

test("without targets nothing is sent, and the outbox stays empty", async () => {
  const world = await openFakeShow();
  await ran(world);
  expect(await world.journal.notices()).toEqual([]);
});

test("a command gets the news on its stdin, its arguments without a shell, and no secret of the environment", async () => {
  const folder = newFolder();
  const file = join(folder, "told.json");
  const script =
    "const [, file, odd] = process.argv; let text = ''; process.stdin.on('data', (piece) => (text += piece));" +
    "process.stdin.on('end', () => require('node:fs').writeFileSync(file, JSON.stringify({ odd, env: process.env, news: JSON.parse(text) })));";
  const command = [process.execPath, "-e", script, file, "$(id) 'a b'"];
  const env = { PATH: process.env.PATH, SHOWRUNNER_API_KEY: "key:secret", AWS_SECRET_ACCESS_KEY: "s" };
  expect(await openNotifications({ notify: { command }, env }).test()).toBeNull();
  const told = JSON.parse(readFileSync(file, "utf8"));
  expect(told.odd).toBe("$(id) 'a b'");
  expect(Object.keys(told.env)).not.toContain("SHOWRUNNER_API_KEY");
  expect(Object.keys(told.env)).not.toContain("AWS_SECRET_ACCESS_KEY");
  expect(told.news).toMatchObject({ event: "notify.test" });
  const failing = openNotifications({ notify: { command: [process.execPath, "-e", "process.exit(3)"] }, env });
  expect(await failing.test()).toMatch(/ended with 3/);
  expect(await openNotifications({ notify: "command:no-such-program-here", env }).test()).toMatch(
    /could not be run \(ENOENT\)/,
  );
});

describe("the signing key", () => {
  test("is created once, beside the journal, for its owner only, however many callers there are", async () => {
    const folder = newFolder();
    const journal = join(folder, "deep/journal.db");
    const asked = Array.from({ length: 8 }, () => openNotifications({ journal, env: {} }).publicKey());
    expect(new Set(await Promise.all(asked)).size).toBe(1);
    const file = join(dirname(journal), "notify-key.pem");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).toContain("PRIVATE KEY");
  });

  test("may be given by the environment, and is never written then", async () => {
    const folder = newFolder();
    const options = { journal: join(folder, "journal.db") };
    const env = { SHOWRUNNER_NOTIFY_KEY: Buffer.alloc(32, 7).toString("base64") };
    const key = await openNotifications({ ...options, env }).publicKey();
    expect(Buffer.from(key, "base64")).toHaveLength(32);
    expect(await openNotifications({ ...options, env }).publicKey()).toBe(key);
    expect(existsSync(join(folder, "notify-key.pem"))).toBe(false);
    await expect(
      openNotifications({ ...options, env: { SHOWRUNNER_NOTIFY_KEY: "short" } }).publicKey(),
    ).rejects.toThrow(/SHOWRUNNER_NOTIFY_KEY: must be 32 bytes in Base64/);
  });
});

describe("a target", () => {
  test("is an option, else of the environment, and no option says nobody", () => {
    const env = { SHOWRUNNER_NOTIFY_URL: "https://hooks.example/a" };
    expect(notifyTarget(undefined, env)).toEqual({ kind: "webhook", url: "https://hooks.example/a" });
    expect(notifyTarget("off", env)).toBeNull();
    expect(notifyTarget(undefined, {})).toBeNull();
    expect(notifyTarget(undefined, { SHOWRUNNER_NOTIFY_COMMAND: `say "it is  done" a'b c'd` })).toEqual({
      kind: "command",
      argv: ["say", "it is  done", "ab cd"],
    });
    expect(() => notifyTarget(undefined, { ...env, SHOWRUNNER_NOTIFY_COMMAND: "say" })).toThrow(/unset one/);
  });

  test("that is none is refused with what one looks like", () => {
    for (const wrong of ["hooks.example", "ftp://hooks.example", "", "command:", "command:  "]) {
      expect(() => notifyTarget(wrong, {})).toThrow(/notify: /);
    }
  });

  test("is never shown with what may be a secret in it", () => {
    const shown = shownTarget({ kind: "webhook", url: "https://user:pw@hooks.example/T000/secret?token=x" });
    expect(shown).toBe("https://hooks.example");
    expect(shownTarget({ kind: "command", argv: ["curl", "-H", "secret"] })).toBe("command curl");
  });
});

describe("what is told", () => {
  const news = (event: RunEvent) => {
    const at = 1_000;
    const state = fold([{ runId: "r1", seq: 1, at, version: 1, event: planned() }])!;
    const told = noticesOf(state, [{ runId: "r1", seq: 2, at, version: 1, event }]);
    return told.map(({ body }) => JSON.parse(body));
  };
  const paused = (reason: string, message = "why") => ({ type: "run.paused", reason, message }) as RunEvent;

  test.each([
    ["funds", "run.needs-funds"],
    ["budget", "run.needs-funds"],
    ["unreachable", "run.unreachable"],
    ["misdirected", "run.unreachable"],
    ["credentials", "run.unreachable"],
    ["unresolved", "run.waiting"],
    ["drift", "run.waiting"],
    ["a reason of a later version", "run.waiting"],
  ])("a pause for %s is told as %s", (reason, event) => {
    expect(news(paused(reason))).toMatchObject([{ id: "r1:2", event, reason, message: "why", status: "paused" }]);
  });

  test("a requested stop is not notified, nor is a pause whose steps were notified before", () => {
    expect(news(paused("stopped"))).toEqual([]);
    expect(news(paused("approval"))).toEqual([]);
  });

  test("no presigned address and no long text leaves in a message", () => {
    const [told] = news(paused("unresolved", `see https://files.example/a.png?sig=SECRET ${"x".repeat(9_000)}`));
    expect(told.message).not.toContain("SECRET");
    expect(told.message.length).toBeLessThanOrEqual(2_000);
  });
});

test("each notice is told at least once, in whatever order processes die, fail and go on [G51]", async () => {
  const plan = fc.array(
    fc.record({ outcome: fc.constantFrom("taken", "refused", "died before", "died after"), waitMs: fc.nat(90_000) }),
    { maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(plan, fc.integer({ min: 1, max: 4 }), async (moments, count) => {
      const clock = new SimulatedClock();
      const journal = createMemoryJournal({ now: () => clock.now() });
      await journal.createRun("r1", planned(), clock.now());
      const taken = await journal.takeLease("r1", holder("a"), { at: clock.now(), ttlMs: 1e9, isDead: nobodyIsDead });
      const { lease } = taken as { readonly lease: Lease };
      const events = Array.from({ length: count }, (_, index) => started(`s${index}`));
      const notices = events.map((_, index) => ({ seq: index + 3, event: "run.waiting", body: "{}" }));
      await journal.commit({ lease, afterSeq: 2, at: clock.now(), events, notices, status: "running" });
      const told = new Set<string>();
      for (const { outcome, waitMs } of moments) {
        const send = async ({ id }: Delivery) => {
          if (outcome === "taken" || outcome === "died after") told.add(id);
          if (outcome === "refused") return "no";
          // A process that dies never says how it ended.
          return outcome === "taken" ? null : new Promise<never>(() => {});
        };
        const working = new Notifier({ store: journal, clock, send }).deliverDue();
        await Promise.race([working, new Promise((resolve) => setImmediate(resolve))]);
        await clock.advance(waitMs);
      }
      for (let look = 0; look < 4 && (await journal.notices()).length > 0; look++) {
        await clock.advance(3_600_000);
        const send = async ({ id }: Delivery) => {
          told.add(id);
          return null;
        };
        await new Notifier({ store: journal, clock, send }).deliverDue();
      }
      expect(told.size).toBe(count);
      expect(await journal.notices()).toEqual([]);
    }),
    { numRuns: isFull ? 2000 : 25 },
  );
});

test("attempts come ever more seldom, down to one an hour, and never end", () => {
  const waits = Array.from({ length: 40 }, (_, index) => retryAfterMs(index + 1));
  expect(waits).toEqual([...waits].sort((a, b) => a - b));
  expect(waits.at(-1)).toBe(3_600_000);
});
