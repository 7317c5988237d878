import { describe, expect, test } from "vitest";
import { ConnectionError } from "../../../src/core/api/index.ts";
import { Wallet } from "../../../src/core/engine/money/wallet.ts";
import { type Client, createMemoryJournal, type OpenOptions } from "../../../src/index.ts";
import { apiError, models, openFakeShow, pictures, pipelineOf } from "../../support/engine.ts";

const usd = 1_000_000;

/** A wallet of a dollar; a picture costs ten cents, and takes a second. */
const world = (open: Partial<OpenOptions>, more: Parameters<typeof openFakeShow>[0] = {}) =>
  openFakeShow({ balanceMicros: usd, says: () => "words", takesMs: () => 1_000, open, ...more });

describe("A floor under the wallet", () => {
  test("lets through what keeps it, sends nothing more, and says what the wallet would have to hold", async () => {
    const { paidService, run, resume } = await world({ walletFloor: "0.75" });
    const result = await run(pictures, { count: 5 }, { concurrency: 5 });
    expect([paidService.submits, paidService.balanceMicros, result.status]).toEqual([2, 800_000, "paused"]);
    expect(result.pause).toMatchObject({ reason: "funds", requiredMicros: 850_000, balanceMicros: 800_000 });
    expect(result.pause?.message).toContain("0.75");
    expect(result.report).toMatchObject({ cost: "0.20", held: "0.00" });

    // Nothing has changed: nothing is sent. Paid in: it goes on where it was.
    const again = await resume();
    expect([again.pause?.reason, paidService.submits]).toEqual(["funds", 2]);
    paidService.balanceMicros += 300_000;
    const done = await resume();
    expect([done.status, paidService.submits, paidService.balanceMicros]).toEqual(["succeeded", 5, 800_000]);
  });

  test("holds exactly over runs at the same time, in random schedules [G26]", async () => {
    for (let seed = 1; seed <= 30; seed++) {
      let state = seed * 7919;
      const slow = () => {
        state = (state * 48_271) % 2_147_483_647;
        return state % 4000;
      };
      const open = { walletFloor: "1.30" };
      const first = await world(open, { balanceMicros: 3 * usd, takesMs: slow });
      const { clock, journal, paidService } = first;
      const others = await Promise.all([1, 2].map(() => openFakeShow({ clock, journal, paidService, open })));
      const results = await Promise.all(
        [first, ...others].map(({ run }, index) =>
          run(pictures, { count: 10 }, { id: `r${index}`, concurrency: 1 + (slow() % 10) }),
        ),
      );
      expect(paidService.balanceMicros, `seed ${seed}`).toBe(1_300_000);
      expect(paidService.jobs.size, `seed ${seed}`).toBe(17);
      expect(results.filter(({ pause }) => pause?.reason === "funds").length).toBeGreaterThanOrEqual(1);
      for (const { id } of results) expect((await journal.ledger(id)).heldMicros).toBe(0);
    }
  }, 300_000);

  test("while it waits for funds bears with a service that is away, and hears a stop [G27]", async () => {
    let isAway = false;
    const { show, paidService, clock, run, resume } = await world(
      { walletFloor: "0.95" },
      { client: ({ balance }) => ({ balance: (...how) => (isAway ? Promise.reject(noRoute()) : balance(...how)) }) },
    );
    await run(pictures, { count: 2 });
    clock.setTimer(15_000, () => {
      isAway = true;
    });
    clock.setTimer(45_000, () => {
      isAway = false;
      void show.stop("x");
    });
    const began = clock.now();
    expect((await resume({ waitForFundsMs: 600_000 })).pause?.reason).toBe("stopped");
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
    const order: string[] = [];
    const client = ({ chat, submit }: Client): Partial<Client> => ({
      chat: async (...how) => {
        order.push("asked");
        const answer = await chat(...how);
        order.push("answered");
        return answer;
      },
      submit: (...how) => {
        order.push("submitted");
        return submit(...how);
      },
    });
    const { run } = await world({ walletFloor: "0.45" }, { client, takesMs: () => 60_000 });
    const result = await run(told);
    expect(result.status, result.pause?.message).toBe("succeeded");
    expect(order).toEqual(["asked", "answered", "submitted", "submitted"]);
  });

  test("notices what others spend from the same wallet [G26]", async () => {
    const { paidService, clock, run } = await world({ walletFloor: "0.50" }, { takesMs: () => 20_000 });
    clock.setTimer(5_000, () => {
      paidService.balanceMicros -= 350_000;
    });
    expect((await run(pictures, { count: 4 }, { concurrency: 1 })).pause?.reason).toBe("funds");
    expect([paidService.jobs.size, paidService.balanceMicros]).toEqual([1, 550_000]);
  });

  test("waits while the balance cannot be read, and sends nothing meanwhile", async () => {
    let failures = 3;
    const submitsAtFailure: number[] = [];
    const client = ({ balance }: Client): Partial<Client> => ({
      balance: (options) => {
        if (failures-- <= 0) return balance(options);
        submitsAtFailure.push(paidService.submits);
        return Promise.reject(noRoute());
      },
    });
    const { paidService, run } = await world({ walletFloor: "0.10" }, { client });
    expect((await run(pictures, { count: 2 })).status).toBe("succeeded");
    expect(submitsAtFailure).toEqual([0, 0, 0]);
  });

  test("with a key that may not read the balance pauses the run before anything is sent", async () => {
    const refused = () => ({ balance: () => Promise.reject(apiError(403, "PERMISSION_DENIED")) });
    const { paidService, journal, clock, run } = await world({ walletFloor: "0.10" }, { client: refused });
    expect((await run(pictures, { count: 2 })).pause?.reason).toBe("credentials");
    expect(paidService.submits).toBe(0);
    const without = await openFakeShow({ paidService, journal, clock });
    expect((await without.resume()).status).toBe("succeeded");
  });

  test.each([
    ["0.30", "0.50", 3, "budget"],
    ["0.80", "0.50", 5, "funds"],
  ])("beside a cap of %s: the tighter of the two decides", async (spendingCap, walletFloor, jobs, reason) => {
    const { paidService, run } = await world({ spendingCap, walletFloor });
    const result = await run(pictures, { count: 9 }, { concurrency: 9 });
    expect([result.pause?.reason, paidService.jobs.size]).toEqual([reason, jobs]);
  });
});

const noRoute = () => new ConnectionError("no route", { sent: false });

test("The spending of all runs lists costs, holds and limits", async () => {
  const { show, run } = await world({ spendingCap: "0.25", env: { SHOWRUNNER_WALLET_FLOOR: "0.5" } });
  const limits = { capMicros: 250_000, floorMicros: 500_000, caps: [], capsPerValue: [] };
  expect(await show.spending()).toEqual({ spentMicros: 0, heldMicros: 0, ...limits });
  await run(pictures, { count: 3 });
  expect(await show.spending()).toEqual({ spentMicros: 200_000, heldMicros: 0, ...limits });
});

test("An amount that is none is refused before anything is opened, wherever it was given", async () => {
  await expect(world({ walletFloor: "much" })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(world({ env: { SHOWRUNNER_SPENDING_CAP: "-1" } })).rejects.toThrow("SHOWRUNNER_SPENDING_CAP");
});

test("The balance is read once in ten seconds for any number of readers, and again when it must be fresh or could not be read", async () => {
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
