import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Client, createClient, UnknownOutcomeError } from "../../src/api/index.ts";
import { openShowrunner, pipeline } from "../../src/index.ts";
import { skippingClock } from "../support/simulated-clock.ts";
import { cli, emptyFolder } from "./support/cli.ts";
import { type ServiceProcess, startService } from "./support/service.ts";

const bell = pipeline("bell", {
  input: z.object({}),
  build: ({ job }) => ({ bell: job("bell", "image-1", { prompt: "a bell" }) }),
});

describe("a submit that was never answered", () => {
  let service: ServiceProcess;

  beforeEach(async () => {
    service = await startService(["--stub", "--balance", "5"]);
  });

  afterEach(() => service?.stop());

  /** A client whose submit is never answered; it may have arrived. */
  function unlucky(client: Client, arrives: boolean): Client {
    const submit: Client["submit"] = async (request, options) => {
      if (arrives) await client.submit(request, options);
      const cause = new Error("no answer");
      throw new UnknownOutcomeError({ model: request.model, idempotencyKey: request.idempotencyKey ?? "", cause });
    };
    return { ...client, submit };
  }

  /** A folder with a journal in which run x waits for a word about its step "bell". */
  async function unresolvedRun(arrives: boolean): Promise<{ cwd: string; env: ServiceProcess["env"] }> {
    const cwd = emptyFolder();
    const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
    const journal = join(cwd, ".showrunner/journal.db");
    const options = { journal, clock: skippingClock(), idempotencyWindowMs: 1 };
    const show = await openShowrunner({ client: unlucky(client, arrives), ...options });
    const run = await show.run(bell, {}, { id: "x", outDir: join(cwd, "out") });
    expect((await run.result()).pause?.reason).toBe("unresolved");
    await show.close();
    await client.close();
    return { cwd, env: service.env };
  }

  test("is listed with the jobs it may have made, adopted, and the run goes on without paying again", async () => {
    const options = await unresolvedRun(true);
    const { jobs_created: before } = await service.stats();
    const resting = await cli(["resume", "x"], options);
    expect(resting.code, resting.stderr).toBe(3);
    expect(resting.stderr).toContain("Next: showrunner adopt x bell");
    const listed = await cli(["adopt", "x", "bell", "--json"], options);
    expect(listed.code, listed.stderr).toBe(3);
    const [job, ...others] = JSON.parse(listed.stdout);
    expect(job).toMatchObject({ model: "image-1", cost: "0.02" });
    expect(others).toEqual([]);
    expect(listed.stderr).toContain(`Next: showrunner adopt x bell ${job.job_id}`);
    const adopted = await cli(["adopt", "x", "bell", job.job_id], options);
    expect(adopted.code, adopted.stderr).toBe(0);
    expect(adopted.stderr).toContain("Next: showrunner resume x");
    const done = await cli(["resume", "x"], options);
    expect(done.code, done.stderr).toBe(0);
    expect(done.stderr).toContain("cost $0.02");
    expect((await service.stats()).jobs_created).toBe(before);
    const again = await cli(["adopt", "x", "bell", job.job_id], options);
    expect(again.code).toBe(2);
    expect(again.stderr).toMatch(/bell is succeeded, not unresolved[\s\S]*Next: showrunner show x/);
  });

  test("that made no job is given up with none", async () => {
    const options = await unresolvedRun(false);
    const listed = await cli(["adopt", "x", "bell"], options);
    expect(listed.stdout).toBe("");
    expect(listed.stderr).toContain("Next: showrunner adopt x bell none");
    expect((await cli(["adopt", "x", "bell", "none"], options)).code).toBe(0);
    const done = await cli(["resume", "x"], options);
    expect(done.code, done.stderr).toBe(1);
    expect(done.stderr).toContain("declared lost");
  });

  test("does not keep its run from new limits, which the journal then holds", async () => {
    const options = await unresolvedRun(false);
    const limits = ["--budget", "9", "--max-unquoted", "1.5", "--wait-for-funds", "1s"];
    const { code, stderr } = await cli(["resume", "x", ...limits], options);
    expect(code, stderr).toBe(3);
    const events = JSON.parse((await cli(["events", "x", "--json"], options)).stdout) as { readonly event: object }[];
    const set = { type: "run.budget.set", budgetMicros: 9_000_000, maxUnquotedMicros: 1_500_000 };
    expect(events.map(({ event }) => event)).toContainEqual(set);
  });

  test("is not resolved with a job that is another step's", async () => {
    const options = await unresolvedRun(false);
    const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
    const show = await openShowrunner({ client, journal: join(options.cwd, ".showrunner/journal.db") });
    const other = await (await show.run(bell, {}, { id: "y", outDir: join(options.cwd, "out-y") })).result();
    await show.close();
    await client.close();
    const theirs = other.report.steps[0]?.attempts[0]?.job_id ?? "";
    const { code, stderr } = await cli(["adopt", "x", "bell", theirs], options);
    expect(code).toBe(2);
    expect(stderr).toMatch(/the job of another step[\s\S]*Next: showrunner adopt x bell/);
  });
});

describe("resume", () => {
  test("refuses amounts and durations that are none, before anything is opened", async () => {
    for (const [flag, value] of [
      ["--budget", "much"],
      ["--max-unquoted", "-1"],
      ["--wait-for-funds", "soon"],
    ] as const) {
      const { code, stderr } = await cli(["resume", "x", flag, value]);
      expect(code, stderr).toBe(2);
      expect(stderr).toContain("Next: write it as");
    }
  });
});
