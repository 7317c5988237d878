import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunReport } from "../../src/index.ts";
import type { LeaseHolder } from "../../src/journal/store.ts";
import { cli, emptyFolder, root, startCli } from "./support/cli.ts";
import { viewJournal } from "./support/journal.ts";
import { type ServiceProcess, startService } from "./support/service.ts";

const recipe = join(root, "recipes/talking-avatar.ts");
const paidSteps = 4;
const killings = 20;
const longMs = 600_000;

/** A recipe that is quick to render. */
function args(id: string): string[] {
  return ["run", recipe, "--id", id, "--budget", "20", "-i", "script=Good day."];
}

interface Killed {
  readonly report: RunReport;
  readonly jobs: number;
  readonly chargedMicros: number;
  readonly replayed: number;
  readonly takeovers: readonly { readonly at: number; readonly expiredAt: number }[];
}

/** What two runs of the same pipeline must agree on, whatever happened in between. */
function essence(report: RunReport) {
  const outputs = report.steps.flatMap(({ path, outputs: all }) => all.map((output) => ({ step: path, ...output })));
  return outputs.map(({ step, index, content_type, width, height, duration_ms, file }) => ({
    step,
    index,
    content_type,
    width,
    height,
    duration_ms,
    name: file?.split("/").at(-1) ?? null,
  }));
}

function expectRealFiles(report: RunReport): void {
  for (const { file, sha256 } of report.steps.flatMap(({ outputs }) => outputs)) {
    if (file !== null)
      expect(
        createHash("sha256")
          .update(readFileSync(join(report.out_dir, file)))
          .digest("hex"),
      ).toBe(sha256);
  }
}

describe("a run that is killed and resumed", () => {
  let service: ServiceProcess;
  let whole: RunReport;
  let price = 0;
  let events = 0;

  beforeAll(async () => {
    service = await startService(["--speed", "20", "--balance", "1000", "--rate-limit", "100000/60"]);
    const cwd = emptyFolder();
    const { code, stderr } = await cli(args("whole"), { cwd, env: service.env });
    expect(code, stderr).toBe(0);
    const { stdout } = await cli(["show", "whole", "--json"], { cwd, env: service.env });
    whole = JSON.parse(stdout) as RunReport;
    price = (await service.stats()).charged_micros;
    events = JSON.parse((await cli(["runs", "--json"], { cwd, env: service.env })).stdout)[0].events;
  }, longMs);

  afterAll(() => service?.stop());

  /** Starts a run, kills it as soon as its journal holds the event, and resumes it; again for each further event. */
  async function killAt(id: string, moments: readonly number[]): Promise<Killed> {
    const cwd = emptyFolder();
    const options = { cwd, env: service.env };
    const before = await service.stats();
    const takeovers: { at: number; expiredAt: number }[] = [];
    let running = startCli(args(id), options);
    await using journal = await viewJournal(join(cwd, ".showrunner/journal.db"), running.end);
    for (const moment of moments) {
      await journal.reached(id, moment, running.end);
      running.child.kill("SIGKILL");
      await running.end;
      const lease = await journal.store.takeLease(id, watcher, { at: Date.now(), ttlMs: 1, isDead: () => false });
      const { lastSeq = 0 } = (await journal.store.run(id)) ?? {};
      running = startCli(["resume", id], options);
      if (lease.taken) continue;
      await journal.reached(id, lastSeq + 1, running.end);
      const [taken] = await journal.store.read(id, { afterSeq: lastSeq, limit: 1 });
      takeovers.push({ at: taken?.at ?? 0, expiredAt: lease.expiresAt });
    }
    const { code, stderr } = await running.end;
    expect(code, stderr).toBe(0);
    const report = JSON.parse((await cli(["show", id, "--json"], options)).stdout) as RunReport;
    const after = await service.stats();
    return {
      report,
      jobs: after.jobs_created - before.jobs_created,
      chargedMicros: after.charged_micros - before.charged_micros,
      replayed: after.replayed_submits - before.replayed_submits,
      takeovers,
    };
  }

  const moments = Array.from({ length: killings }, (_, at) => at);

  test.each(moments)(
    "at moment %i of 20: same files, one job a paid step, one price, no waiting for the lease",
    async (moment) => {
      const seq = 1 + Math.floor((moment * (events - 1)) / killings);
      const { report, jobs, chargedMicros, takeovers } = await killAt(`kill-${moment}`, [seq]);
      expect(report.status).toBe("succeeded");
      expect(essence(report)).toEqual(essence(whole));
      expectRealFiles(report);
      expect({ jobs, chargedMicros }).toEqual({ jobs: paidSteps, chargedMicros: price });
      for (const { at, expiredAt } of takeovers) expect(at).toBeLessThan(expiredAt);
    },
    longMs,
  );

  test(
    "many times over in one life",
    async () => {
      const { report, jobs, chargedMicros } = await killAt("cat", [2, 5, 9, 14, 20]);
      expect(report.status).toBe("succeeded");
      expect(essence(report)).toEqual(essence(whole));
      expect({ jobs, chargedMicros }).toEqual({ jobs: paidSteps, chargedMicros: price });
    },
    longMs,
  );
});

describe("with the local service in the same process", () => {
  test(
    "a kill takes both down, and resume finishes both",
    async () => {
      const cwd = emptyFolder();
      const first = startCli(["run", recipe, "--id", "both", "-i", "script=Good day."], { cwd });
      await using journal = await viewJournal(join(cwd, ".showrunner/journal.db"), first.end);
      await journal.reached("both", 12, first.end);
      first.child.kill("SIGKILL");
      await first.end;
      const { code, stderr } = await cli(["resume", "both"], { cwd });
      expect(code, stderr).toBe(0);
      const report = JSON.parse((await cli(["show", "both", "--json"], { cwd })).stdout) as RunReport;
      expect(report.steps.flatMap(({ attempts }) => attempts)).toHaveLength(paidSteps);
      expectRealFiles(report);
    },
    longMs,
  );
});

/** Looks at the lease without being anybody who could hold it. */
const watcher: LeaseHolder = { host: "test", bootId: "test", pid: 0, processStart: "0", instance: "watcher" };
