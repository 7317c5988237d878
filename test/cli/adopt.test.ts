import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { stepTable } from "../../src/cli/commands/show.ts";
import { type Client, ConnectionError, createClient, UnknownOutcomeError } from "../../src/core/api/index.ts";
import { openSqliteJournal } from "../../src/core/journal/sqlite.ts";
import { openShowrunner, pipeline } from "../../src/index.ts";
import { skippingClock } from "../support/simulated-clock.ts";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";
import { bell, unresolvedRun } from "./support/unresolved.ts";

describe("a submit that was never answered", () => {
  let service: Service;

  beforeEach(async () => {
    service = await startService(["--stub", "--balance", "5"]);
  });

  afterEach(() => service?.stop());

  test("is listed with the jobs it may have created, adopted, and the run continues without paying again", async () => {
    const options = await unresolvedRun(service, true);
    const { jobs_created: before } = await service.stats();
    const retryOrPause = await cli(["resume", "x"], options);
    expect(retryOrPause.code, retryOrPause.stderr).toBe(3);
    expect(retryOrPause.stderr).toContain("Next: showrunner adopt x bell");
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

  test("that created no job is given up with none", async () => {
    const options = await unresolvedRun(service, false);
    const listed = await cli(["adopt", "x", "bell"], options);
    expect(listed.stdout).toBe("");
    // An empty list is no proof: the way to give it up comes with a warning.
    expect(listed.stderr).toMatch(/does not prove[\s\S]*may lose a job[\s\S]*Next: showrunner reconcile x/);
    expect(listed.stderr).not.toContain("Next: showrunner adopt x bell none");
    expect((await cli(["adopt", "x", "bell", "none"], options)).code).toBe(0);
    const done = await cli(["resume", "x"], options);
    expect(done.code, done.stderr).toBe(1);
    expect(done.stderr).toContain("someone confirmed that nothing was generated");
  });

  test("does not keep its run from new limits, which the journal then holds", async () => {
    const options = await unresolvedRun(service, false);
    const limits = ["--budget", "9", "--max-unquoted", "1.5", "--wait-for-funds", "1s"];
    const { code, stderr } = await cli(["resume", "x", ...limits], options);
    expect(code, stderr).toBe(3);
    const events = JSON.parse((await cli(["events", "x", "--json"], options)).stdout) as { readonly event: object }[];
    const set = { type: "run.budget.set", budgetMicros: 9_000_000, maxUnquotedMicros: 1_500_000 };
    expect(events.map(({ event }) => event)).toContainEqual(set);
  });

  test("is not resolved with a job that is another step's", async () => {
    const options = await unresolvedRun(service, false);
    const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
    const show = await openShowrunner({ client, journal: join(options.cwd, ".showrunner/journal.db") });
    const other = await (await show.run(bell, {}, { id: "y", outDir: join(options.cwd, "out-y") })).result();
    await show.close();
    await client.close();
    const theirs = other.report.steps[0]?.attempts[0]?.job_id ?? "";
    const { code, stderr } = await cli(["adopt", "x", "bell", theirs], options);
    expect(code).toBe(2);
    expect(stderr).toMatch(/already belongs to another step[\s\S]*Next: showrunner adopt x bell/);
  });
});

const bells = pipeline("bells", {
  input: z.object({}),
  build: ({ job }) => ({
    bells: [1, 2, 3].map((n) => job(`bell-${n}`, "image-1", { prompt: `bell number ${n}` })),
    twins: ["left", "right"].map((side, seed) => job(side, "image-1", { prompt: "a twin", seed })),
  }),
});

describe("steps whose submits were never answered", () => {
  let service: Service;

  beforeEach(async () => {
    service = await startService(["--stub", "--balance", "5"]);
  });

  afterEach(() => service?.stop());

  /** Three bells that can be told apart, and two twins that cannot: all were made, and nobody knows it. */
  async function unresolvedRun(): Promise<{ cwd: string; env: Service["env"] }> {
    const cwd = emptyFolder();
    const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
    const submit: Client["submit"] = async (request, options) => {
      await client.submit(request, options);
      const cause = new ConnectionError("the connection broke", { sent: true });
      throw new UnknownOutcomeError({ model: request.model, idempotencyKey: request.idempotencyKey ?? "", cause });
    };
    const show = await openShowrunner({
      ...{ client: { ...client, submit }, journal: join(cwd, ".showrunner/journal.db"), clock: skippingClock() },
      idempotencyWindowMs: 1,
    });
    const run = await show.run(
      bells,
      {},
      { id: "x", outDir: join(cwd, "out"), giveUpAfterMs: Number.POSITIVE_INFINITY },
    );
    expect((await run.result()).pause?.reason).toBe("unresolved");
    await show.close();
    await client.close();
    return { cwd, env: service.env };
  }

  test("are listed in one list, with what a person needs to choose, and adopted one by one", async () => {
    const options = await unresolvedRun();
    const listed = await cli(["adopt", "x"], options);
    expect(listed.code, listed.stderr).toBe(3);
    expect(listed.stderr).toContain(`Next: showrunner adopt x bell-1 job_`);
    const open = JSON.parse((await cli(["adopt", "x", "--json"], options)).stdout);
    expect(open).toHaveLength(5);
    expect(open[0]).toMatchObject({ step: "bell-1", prompt: "bell number 1", held: "0.02" });
    const [first] = open[0].candidates;
    expect(first).toMatchObject({ match: "prompt", prompt: "bell number 1", cost: "0.02" });
    expect(listed.stdout).toContain(first.job_id);
    const adopted = await cli(["adopt", "x", "bell-1", first.job_id], options);
    expect(adopted.code, adopted.stderr).toBe(0);
    expect(adopted.stderr).toContain(`Recorded for bell-1: ${first.job_id}`);
  });

  test("are walked through on a terminal: yes, a number, nothing, and none only after a second question [G5]", async () => {
    const options = await unresolvedRun();
    const answers = ["y", "1", "what", "", "1", "none", "n", "none", "y"];
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return answers.shift() ?? "";
    };
    const { code, stderr } = await cli(["adopt", "x"], { ...options, ask });
    expect(code, stderr).toBe(3);
    expect(answers).toEqual([]);
    expect(stderr).toContain("Type the number of a job");
    expect(asked.filter((question) => question.includes("paid for and lost. Continue?"))).toHaveLength(2);
    const journal = await openSqliteJournal(join(options.cwd, ".showrunner/journal.db"));
    const said = (await journal.inbox("x")).map(({ message }) => message);
    await journal.close();
    expect(said).toMatchObject([
      { step: "bell-1", jobId: expect.stringMatching(/^job_/) },
      { step: "bell-2", jobId: expect.stringMatching(/^job_/) },
      { step: "left", jobId: expect.stringMatching(/^job_/) },
      { step: "right", jobId: null },
    ]);
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

test("of a request to a provider that never answered, the end of the run, show and adopt say what is known and what to type", async () => {
  const cwd = emptyFolder();
  const { path, own } = { path: join(cwd, "still.ts"), own: join(import.meta.dirname, "../../src/index.ts") };
  writeFileSync(
    path,
    `import { pipeline } from ${JSON.stringify(own)};
import { z } from "zod";
const model = { specificationVersion: "v4", provider: "fal.image", modelId: "flux", maxImagesPerCall: 1,
  doGenerate: async () => { throw new Error("socket hang up"); } };
export default pipeline("still", { input: z.object({}),
  build: ({ generate }) => ({ still: generate("still", model as never, { prompt: "a boat" }, { maxCost: "0.05" }) }) });
`,
  );
  await using service = await startService(["--stub"]);
  const options = { cwd, env: service.env };
  const known =
    "still: sent once to fal (fal.image:flux); it is unknown whether anything was generated or charged: socket hang up; up to $0.05 stays reserved. " +
    `Check your account at fal, then pass the file that the request generated, or "none" if there is no file: showrunner adopt x still <file|none>`;
  const run = await cli(["run", path, "--id", "x", "--budget", "1"], options);
  expect(run.code, run.stderr).toBe(3);
  expect(run.stderr.split(known)).toHaveLength(3);
  expect(run.stderr).not.toMatch(/still runs|jobs that the step may have created/);
  const shown = await cli(["show", "x"], options);
  expect(shown.stdout).toContain(known);
  const asked = await cli(["adopt", "x", "still"], options);
  expect(asked.stderr).toMatch(/sent at \S+\.\n.*account there\. The provider may have charged up to \$0\.05/);
  expect(asked.stderr).toMatch(/Next: showrunner adopt x still <file>\n.*\n +showrunner adopt x still none\n/);
  expect((await cli(["adopt", "x"], options)).stderr).toContain("Next: showrunner adopt x still <file|none>");
});

test("show marks what a provider charged without saying how much, in its step", () => {
  const attempts = [{ cost: "0.05", unconfirmed: true }, { cost: "0.02" }];
  const step = { path: "still", status: "succeeded", started_at: null, outputs: [], reason: "", attempts };
  const report = { steps: [step] };
  expect(stepTable(report as never)).toContain("$0.05 (not confirmed) + $0.02");
});
