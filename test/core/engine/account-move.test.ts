import { describe, expect, test } from "vitest";
import type { Client } from "../../../src/core/api/index.ts";
import { accountOf } from "../../../src/core/journal/record.ts";
import type { ResumeOptions } from "../../../src/index.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";
import { during, eventsOf, type FakeShow, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { apiError, FakePaidService, unanswered } from "../../support/fake-paid-service.ts";

const gated = pipelineOf("gated", ({ job, approve }) => {
  const face = job("face", models.image, { prompt: "a face" });
  return { poster: job("poster", models.image, { prompt: "a poster", images: [approve("gate", face)] }) };
});

/** A client of a service by a key at an address; it says 404 of jobs that the service does not have. */
function clientOf(paidService: FakePaidService, where: { readonly keyId?: string; readonly baseUrl?: string }): Client {
  const client = paidService.client();
  const job: Client["job"] = async (jobId, options) => {
    if (!paidService.jobs.has(jobId)) throw apiError(404, "NOT_FOUND");
    return client.job(jobId, options);
  };
  return { ...client, job, ...where };
}

const opened = ({ journal, mediaDir, clock }: FakeShow, client: Client) =>
  openFakeShow({ journal, mediaDir, clock, client: () => client });

async function resumed(world: FakeShow, client: Client, how: ResumeOptions) {
  return (await opened(world, client)).resume(how);
}

describe("A run whose account has moved", () => {
  test.each([
    ["another key", { keyId: "paper-2" }],
    ["another address", { baseUrl: "https://other.test:8787/v3" }],
  ])(
    "to %s is refused with the flag that takes it there, and goes on with it, paying nothing twice [G37]",
    async (_, where) => {
      const world = await openFakeShow();
      await world.run(gated);
      const client = clientOf(world.paidService, where);
      const before = await world.journal.read("x");
      await expect(resumed(world, client, {})).rejects.toMatchObject({
        code: "ACCOUNT_MISMATCH",
        message: expect.stringContaining("resume x --account-moved"),
      });
      expect(await world.journal.read("x")).toEqual(before);

      expect((await resumed(world, client, { accountMoved: true })).pause?.reason).toBe("approval");
      const account = { keyId: "paper", baseUrl: "https://paper.test/v3", ...where };
      expect(await eventsOf(world)).toContainEqual({ type: "run.account.moved", ...account, jobId: "job_1" });
      expect(await world.journal.accountLedger(accountOf(account))).toMatchObject({ settledMicros: 100_000 });
      // It belongs there from now on: the flag is asked for once, and the former place is another account.
      await (await opened(world, client)).show.approve("x", "gate");
      expect((await resumed(world, client, {})).status).toBe("succeeded");
      expect(world.paidService.jobs.size).toBe(2);
      const back = resumed(world, world.paidService.client(), {});
      await expect(back).rejects.toMatchObject({ code: "ACCOUNT_MISMATCH" });
    },
  );

  test("is moved also when it is over, so that its steps can be rerun", async () => {
    const world = await openFakeShow({ varies: true });
    await world.run(gated);
    await world.show.approve("x", "gate");
    await world.resume();
    const client = clientOf(world.paidService, { keyId: "paper-2" });
    expect((await resumed(world, client, { accountMoved: true })).status).toBe("succeeded");
    expect((await resumed(world, client, { rerun: ["poster"] })).status).toBe("succeeded");
    expect(world.paidService.jobs.size).toBe(3);
  });

  test("killed at any moment of the move and repeated, it moves once and submits no job twice", async () => {
    for (let point = 1; point <= 12; point++) {
      const world = await openFakeShow();
      await world.run(gated);
      await world.show.approve("x", "gate");
      const client = clientOf(world.paidService, { keyId: "paper-2" });
      const crashInjector = new CrashInjector(point);
      const dying = await opened({ ...world, journal: crashInjector.store(world.journal) }, client);
      const first = dying.show.resume("x", { accountMoved: true }).then((handle) => handle.result());
      first.catch(() => {});
      await during(world.clock, Promise.race([first, crashInjector.died]));
      const heir = { ...world, journal: new CrashInjector(Number.POSITIVE_INFINITY).store(world.journal) };
      expect((await resumed(heir, client, { accountMoved: true })).status).toBe("succeeded");
      const moves = (await eventsOf(world)).filter(({ type }) => type === "run.account.moved");
      expect([moves.length, world.paidService.jobs.size], crashInjector.points.at(-1)).toEqual([1, 2]);
    }
  });
});

describe("Another account", () => {
  test("that does not know the run's job is refused, whatever the options, and nothing is changed [G37]", async () => {
    const world = await openFakeShow();
    await world.run(gated);
    const before = await world.journal.read("x");
    const stranger = clientOf(new FakePaidService({ catalog: builtInCatalog() }), { keyId: "stranger" });
    const message = expect.stringContaining("has no access to the jobs");
    const refusal = { code: "INVALID_OPTION", option: "accountMoved", message };
    await expect(resumed(world, stranger, { accountMoved: true })).rejects.toMatchObject(refusal);
    expect(await world.journal.read("x")).toEqual(before);
  });

  test("that has a job of the same id on another model is refused", async () => {
    const world = await openFakeShow();
    await world.run(gated);
    const client = clientOf(world.paidService, { keyId: "stranger" });
    const job: Client["job"] = async (...args) => ({ ...(await client.job(...args)), model: "video-1" });
    const moved = resumed(world, { ...client, job }, { accountMoved: true });
    await expect(moved).rejects.toMatchObject({ option: "accountMoved" });
  });

  test("takes a run that sent nothing yet, and none whose submit was never answered", async () => {
    const world = await openFakeShow();
    await world.run(gated, {}, { signal: AbortSignal.abort() });
    expect(world.paidService.jobs.size).toBe(0);
    const moved = await resumed(world, clientOf(world.paidService, { keyId: "paper-2" }), { accountMoved: true });
    expect(moved.pause?.reason).toBe("approval");
    const move = { type: "run.account.moved", keyId: "paper-2", jobId: null };
    expect(await eventsOf(world)).toContainEqual(expect.objectContaining(move));

    const silent = await openFakeShow({ refuses: (model) => unanswered(model) });
    const run = await during(silent.clock, silent.show.run(gated, {}, { id: "x", outDir: silent.outDir }));
    silent.clock.setTimer(30_000, () => void run.stop());
    await during(silent.clock, run.result());
    const refused = resumed(silent, clientOf(silent.paidService, { keyId: "paper-2" }), { accountMoved: true });
    await expect(refused).rejects.toThrow("the request for face was never answered");
  });
});
