import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeNeeding } from "../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../support/postgres.ts";
import { type CliEnd, cli, emptyFolder, startCli } from "./support/cli.ts";
import { firstDocument, type Service, startService } from "./support/service.ts";

const bell = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("bell", {
  input: z.object({}),
  build: ({ job, approve }) => {
    const bell = job("bell", "image-1", { prompt: "a bell" });
    return { bell, sure: approve("sure", bell) };
  },
});
`;

describeNeeding(lacksPostgres())("With the journal in PostgreSQL", () => {
  let service: Service;
  let cluster: PostgresCluster;
  let url: string;
  const said: CliEnd[] = [];

  beforeAll(async () => {
    [service, cluster] = await Promise.all([
      startService(["--stub", "--balance", "5"]),
      PostgresCluster.start({ password: true, settings: { fsync: "off" } }),
    ]);
    url = await cluster.createDatabase();
  });
  afterAll(async () => {
    await service?.stop();
    await cluster?.remove();
  });

  async function run(args: readonly string[], options: Parameters<typeof cli>[1]) {
    const end = await cli(args, options);
    said.push(end);
    return end;
  }

  test("a run is started on one machine, approved on a second, driven on by the third's worker, and removed", async () => {
    const machine = () => ({ cwd: emptyFolder(), env: { ...service.env, SHOWRUNNER_JOURNAL: url } });
    const [first, second] = [machine(), machine()];
    writeFileSync(join(first.cwd, "bell.ts"), bell);
    const started = await run(["run", "bell.ts", "--id", "x", "--budget", "1"], first);
    expect(started.code, started.stderr).toBe(3);
    expect(existsSync(join(first.cwd, ".showrunner/journal.db"))).toBe(false);

    // The second has neither code nor media, and names the journal by a flag.
    const flags = { cwd: second.cwd, env: service.env };
    const listed = await run(["runs", "--json", "--journal", url], flags);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id: "x", status: "paused" }]);
    const shown = await run(["show", "x", "--journal", url], flags);
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("bell") });
    const approved = await run(["approve", "x", "sure", "--journal", url], flags);
    expect(approved.code, approved.stderr).toBe(0);
    expect(approved.stderr).toContain("--journal");

    const third = await run(["worker", "--once"], first);
    expect(third.code, third.stderr).toBe(0);
    expect((await run(["events", "x"], second)).stdout).toContain("run.finished");
    expect(await run(["reconcile"], first)).toMatchObject({ code: 0 });
    const gone = await run(["gc", "--older-than", "0s"], first);
    expect(gone).toMatchObject({ code: 0, stdout: "x\n" });
    expect(JSON.parse((await run(["runs", "--json"], second)).stdout)).toEqual([]);
  });

  test("the dashboard serves it, and hears what another process writes", async () => {
    const options = { cwd: emptyFolder(), env: { ...service.env, SHOWRUNNER_JOURNAL: url } };
    writeFileSync(join(options.cwd, "bell.ts"), bell);
    const { child, end } = startCli(["dashboard", "--port", "0", "--json"], options);
    const { url: page } = (await firstDocument(child, end)) as unknown as { readonly url: string };
    expect((await fetch(page, { redirect: "follow" })).status).toBe(200);
    expect((await run(["run", "bell.ts", "--id", "y", "--budget", "1"], options)).code).toBe(3);
    child.kill("SIGTERM");
    said.push(await end);
  });

  test("doctor says what the database is, or what is wrong with it", async () => {
    const options = { cwd: emptyFolder(), env: { ...service.env, SHOWRUNNER_JOURNAL: url } };
    const fine = await run(["doctor"], options);
    expect(fine.stdout).toMatch(/journal.*PostgreSQL \d+.*postgres:\/\/tester@127\.0\.0\.1/);
    const wrong = url.replace("pa55word", "gu3ssed");
    const refused = await run(["doctor", "--journal", wrong], options);
    expect(refused).toMatchObject({
      code: expect.not.stringMatching("0"),
      stdout: expect.stringContaining("refused the login"),
    });
    const nowhere = await run(["runs", "--journal", `${url}_not_there`], options);
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining("createdb") });
  });

  test("the password stands in nothing that a command says", () => {
    expect(said.length).toBeGreaterThan(10);
    for (const { stdout, stderr } of said) expect(stdout + stderr).not.toMatch(/pa55word|gu3ssed/);
  });
});
