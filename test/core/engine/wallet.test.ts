import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { ConnectionError } from "../../../src/core/api/index.ts";
import { Wallet } from "../../../src/core/engine/money/wallet.ts";
import {
  type Client,
  createMemoryJournal,
  type JournalStore,
  type OpenOptions,
  openShowrunner,
  pipeline,
} from "../../../src/index.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";
import { apiError, FakePaidService } from "../../support/fake-paid-service.ts";
import { during } from "../../support/fake-showrunner.ts";
import { pipelineOf } from "../../support/pipelines.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";

const folder = mkdtempSync(join(tmpdir(), "wallet-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const longMs = 300_000;
const usd = 1_000_000;
/** So many pictures of ten cents, and nothing is downloaded. */
const pictures = pipeline("pictures", {
  input: z.object({ count: z.number() }),
  build({ input, job }) {
    for (let i = 0; i < input.count; i++) job(`p${i}`, models.image, { prompt: `${i}` }, { keep: false });
    return {};
  },
});

interface World {
  readonly paidService: FakePaidService;
  readonly clock: SimulatedClock;
  readonly journal: JournalStore;
  open(options: Partial<OpenOptions> & { readonly client?: Client }): ReturnType<typeof openShowrunner>;
}

function world(balanceMicros: number, slow: (clock: SimulatedClock) => number = () => 1000): World {
  const clock = new SimulatedClock();
  const sleep = () => new Promise<void>((resolve) => void clock.setTimer(slow(clock), resolve));
  const paidService = new FakePaidService({ catalog: builtInCatalog(), balanceMicros, sleep, says: () => "words" });
  const journal = createMemoryJournal({ now: () => clock.now() });
  return {
    ...{ paidService, clock, journal },
    open: (options) => openShowrunner({ client: paidService.client(), journal, clock, mediaDir: folder, ...options }),
  };
}

describe("A floor under the wallet", () => {
  test("lets through what keeps it, sends nothing more, and says what the wallet would have to hold", async () => {
    const { paidService, clock, open } = world(usd);
    const show = await open({ walletFloor: "0.75" });
    const run = await during(clock, show.run(pictures, { count: 5 }, { id: "x", concurrency: 5 }));
    const result = await during(clock, run.result());
    expect(paidService.submits).toBe(2);
    expect(paidService.balanceMicros).toBe(800_000);
    expect(result.status).toBe("paused");
    expect(result.pause).toMatchObject({ reason: "funds", requiredMicros: 850_000, balanceMicros: 800_000 });
    expect(result.pause?.message).toContain("0.75");
    expect(result.report).toMatchObject({ cost: "0.20", held: "0.00" });

    // Nothing has changed: nothing is sent. Paid in: it goes on where it was.
    const again = await during(clock, (await show.resume("x")).result());
    expect([again.pause?.reason, paidService.submits]).toEqual(["funds", 2]);
    paidService.balanceMicros += 300_000;
    const done = await during(clock, (await show.resume("x")).result());
    expect([done.status, paidService.submits, paidService.balanceMicros]).toEqual(["succeeded", 5, 800_000]);
  });

  test(
    "holds exactly over runs at the same time, in random schedules [G26]",
    async () => {
      for (let seed = 1; seed <= 30; seed++) {
        let state = seed * 7919;
        const slow = () => {
          state = (state * 48_271) % 2_147_483_647;
          return state % 4000;
        };
        const { paidService, clock, journal, open } = world(3 * usd, slow);
        const shows = await Promise.all(Array.from({ length: 3 }, () => open({ walletFloor: "1.30" })));
        const results = await during(
          clock,
          Promise.all(
            shows.map(async (show, index) => {
              const run = await show.run(pictures, { count: 10 }, { id: `r${index}`, concurrency: 1 + (slow() % 10) });
              return run.result();
            }),
          ),
        );
        expect(paidService.balanceMicros, `seed ${seed}`).toBe(1_300_000);
        expect(paidService.jobs.size, `seed ${seed}`).toBe(17);
        expect(results.filter(({ pause }) => pause?.reason === "funds").length).toBeGreaterThanOrEqual(1);
        for (const { id } of results) expect((await journal.ledger(id)).heldMicros).toBe(0);
      }
    },
    longMs,
  );

  test("continues by itself once the wallet holds enough, with waitForFunds", async () => {
    const { paidService, clock, open } = world(usd);
    const show = await open({ walletFloor: "0.95" });
    const run = await during(clock, show.run(pictures, { count: 2 }, { id: "x" }));
    await during(clock, run.result());
    expect(paidService.submits).toBe(0);
    clock.setTimer(25_000, () => {
      paidService.balanceMicros += usd;
    });
    const waiting = await show.resume("x", { waitForFundsMs: 60_000 });
    expect((await during(clock, waiting.result())).status).toBe("succeeded");
  });

  test("while it waits for funds bears with a service that is away, and hears a stop [G27]", async () => {
    const { paidService, clock, open } = world(usd);
    const client = paidService.client();
    let isAway = false;
    const balance: Client["balance"] = (options) =>
      isAway ? Promise.reject(new ConnectionError("no route", { sent: false })) : client.balance(options);
    const show = await open({ client: { ...client, balance }, walletFloor: "0.95" });
    await during(clock, (await during(clock, show.run(pictures, { count: 2 }, { id: "x" }))).result());
    const waiting = await show.resume("x", { waitForFundsMs: 600_000 });
    clock.setTimer(15_000, () => {
      isAway = true;
    });
    clock.setTimer(45_000, () => {
      isAway = false;
      void show.stop("x");
    });
    const began = clock.now();
    expect((await during(clock, waiting.result())).pause?.reason).toBe("stopped");
    expect(clock.now() - began).toBeLessThan(60_000);
    expect(paidService.submits).toBe(0);
  });

  test("waits for what is on its way rather than pause: a chat's bill, which is less than its maximum [G26]", async () => {
    const told = pipelineOf("told", ({ chat, job }) => {
      const words = chat("words", "chat-1", { prompt: "say something" }, { maxCost: "0.50" });
      job("drawn", models.image, { prompt: words }, { keep: false });
      job("picture", models.image, { prompt: "a picture" }, { keep: false });
      return {};
    });
    const { paidService, clock, open } = world(usd);
    const client = paidService.client();
    const order: string[] = [];
    const chat: Client["chat"] = async (request, options) => {
      order.push("asked");
      await new Promise<void>((resolve) => void clock.setTimer(60_000, resolve));
      const answer = await client.chat(request, options);
      order.push("answered");
      return answer;
    };
    const submit: Client["submit"] = (request, options) => {
      order.push("submitted");
      return client.submit(request, options);
    };
    const show = await open({ client: { ...client, chat, submit }, walletFloor: "0.45" });
    const run = await during(clock, show.run(told, {}, { id: "x" }));
    const result = await during(clock, run.result());
    expect(result.status, result.pause?.message).toBe("succeeded");
    expect(order).toEqual(["asked", "answered", "submitted", "submitted"]);
  });

  test("notices what others spend from the same wallet [G26]", async () => {
    const { paidService, clock, open } = world(usd, () => 20_000);
    const show = await open({ walletFloor: "0.50" });
    const run = await during(clock, show.run(pictures, { count: 4 }, { id: "x", concurrency: 1 }));
    clock.setTimer(5_000, () => {
      paidService.balanceMicros -= 350_000;
    });
    const result = await during(clock, run.result());
    expect(result.pause?.reason).toBe("funds");
    expect([paidService.jobs.size, paidService.balanceMicros]).toEqual([1, 550_000]);
  });

  test("waits while the balance cannot be read, and sends nothing meanwhile", async () => {
    const { paidService, clock, open } = world(usd);
    const client = paidService.client();
    let failures = 3;
    const submitsAtFailure: number[] = [];
    const balance: Client["balance"] = (options) => {
      if (failures-- <= 0) return client.balance(options);
      submitsAtFailure.push(paidService.submits);
      return Promise.reject(new ConnectionError("no route", { sent: false }));
    };
    const show = await open({ client: { ...client, balance }, walletFloor: "0.10" });
    const run = await during(clock, show.run(pictures, { count: 2 }, { id: "x" }));
    expect((await during(clock, run.result())).status).toBe("succeeded");
    expect(submitsAtFailure).toEqual([0, 0, 0]);
  });

  test("with a key that may not read the balance pauses the run before anything is sent", async () => {
    const { paidService, clock, open } = world(usd);
    const balance = () => Promise.reject(apiError(403, "PERMISSION_DENIED"));
    const show = await open({ client: { ...paidService.client(), balance }, walletFloor: "0.10" });
    const run = await during(clock, show.run(pictures, { count: 2 }, { id: "x" }));
    expect((await during(clock, run.result())).pause?.reason).toBe("credentials");
    expect(paidService.submits).toBe(0);
    const without = await open({});
    expect((await during(clock, (await without.resume("x")).result())).status).toBe("succeeded");
  });

  test("beside a cap: the tighter of the two decides", async () => {
    for (const [spendingCap, walletFloor, jobs, reason] of [
      ["0.30", "0.50", 3, "budget"],
      ["0.80", "0.50", 5, "funds"],
    ] as const) {
      const { paidService, clock, open } = world(usd);
      const show = await open({ spendingCap, walletFloor });
      const run = await during(clock, show.run(pictures, { count: 9 }, { id: "x", concurrency: 9 }));
      const result = await during(clock, run.result());
      expect([result.pause?.reason, paidService.jobs.size]).toEqual([reason, jobs]);
    }
  });
});

test("The spending of all runs lists costs, holds and limits", async () => {
  const { clock, open } = world(usd);
  const show = await open({ spendingCap: "0.25", env: { SHOWRUNNER_WALLET_FLOOR: "0.5" } });
  const limits = { capMicros: 250_000, floorMicros: 500_000, caps: [], capsPerValue: [] };
  expect(await show.spending()).toEqual({ spentMicros: 0, heldMicros: 0, ...limits });
  await during(clock, (await during(clock, show.run(pictures, { count: 3 }, { id: "x" }))).result());
  expect(await show.spending()).toEqual({ spentMicros: 200_000, heldMicros: 0, ...limits });
});

test("An amount that is none is refused before anything is opened, wherever it was given", async () => {
  const { open } = world(usd);
  await expect(open({ walletFloor: "much" })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(open({ env: { SHOWRUNNER_SPENDING_CAP: "-1" } })).rejects.toThrow("SHOWRUNNER_SPENDING_CAP");
});

describe("The balance", () => {
  test("is read once in ten seconds for any number of readers, and again when it must be fresh or could not be read", async () => {
    let now = 0;
    let asked = 0;
    let broken = false;
    const client = {
      balance: async () => {
        asked++;
        if (broken) throw new Error("broken");
        return { balanceMicros: asked, currency: "USD", spentMicros: null };
      },
    } as unknown as Client;
    const wallet = new Wallet({ client, store: createMemoryJournal(), account: "a", now: () => now });
    const all = await Promise.all([wallet.balance(false), wallet.balance(false), wallet.balance(false)]);
    expect(all.map(({ balanceMicros }) => balanceMicros)).toEqual([1, 1, 1]);
    now = 9_999;
    expect((await wallet.balance(false)).balanceMicros).toBe(1);
    now = 10_000;
    expect((await wallet.balance(false)).balanceMicros).toBe(2);
    expect((await wallet.balance(true)).balanceMicros).toBe(3);
    broken = true;
    await expect(wallet.balance(true)).rejects.toThrow("broken");
    broken = false;
    expect((await wallet.balance(false)).balanceMicros).toBe(5);
  });
});
