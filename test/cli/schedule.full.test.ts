import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { cli, startCli } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

vi.setConfig({ testTimeout: 120_000 });

const folder = mkdtempSync(join(tmpdir(), "schedule-"));
let service: Service;
const here = (...args: readonly string[]) => cli(args, { cwd: folder, env: service.env });

beforeAll(async () => {
  service = await startService(["--stub"]);
  writeFileSync(
    join(folder, "schedules.ts"),
    `import { pipeline, type Schedule } from "showrunner";
import { z } from "zod";

export const tick = pipeline("tick", {
  input: z.object({ at: z.string() }),
  build({ input, task }) {
    return { said: task("said", {}, () => input.at) };
  },
});

const input = ({ at }: { readonly at: Date }) => ({ at: at.toISOString() });

export const schedules: readonly Schedule[] = [
  { name: "tick", cron: "* * * * * *", pipeline: tick, input },
  { name: "yearly", cron: "0 0 1 1 *", timeZone: "Europe/Berlin", pipeline: tick, input },
];
`,
  );
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Listed {
  readonly name: string;
  readonly nextAt: string;
  readonly last: { readonly runId: string; readonly status: string } | null;
  readonly missed: readonly string[];
}

const listed = async () => JSON.parse((await here("schedule", "list", "schedules.ts", "--json")).stdout) as Listed[];

test("three workers with the same schedules start one run a time; what passes without them is listed as missed", async () => {
  const [, yearly] = await listed();
  expect(yearly).toMatchObject({ name: "yearly", last: null, missed: [] });
  expect(yearly!.nextAt).toMatch(/-12-31T23:00:00\.000Z$/);
  const workers = Array.from({ length: 3 }, () =>
    startCli(["worker", "--schedules", "schedules.ts"], { cwd: folder, env: service.env }),
  );
  const said = workers.map(() => "");
  for (const [index, { child }] of workers.entries()) {
    child.stderr?.on("data", (text: string) => {
      said[index] += text;
    });
  }
  // Until each of them has met times that another one had.
  const outcomes = (text: string, outcome: string) =>
    [...text.matchAll(new RegExp(`Schedule (\\S+): ${outcome}`, "g"))].map(([, run]) => run!);
  await expect.poll(() => said.every((text) => outcomes(text, "elsewhere").length > 0), { timeout: 60_000 }).toBe(true);
  for (const { child } of workers) child.kill("SIGTERM");
  for (const { end } of workers) expect((await end).code).toBe(130);
  const started = said.flatMap((text) => outcomes(text, "started"));
  expect(new Set(started).size).toBe(started.length);
  const { stdout } = await here("runs", "--tag", "schedule=tick", "--json");
  const runs = JSON.parse(stdout) as readonly { readonly id: string }[];
  expect(runs.map(({ id }) => id).toSorted()).toEqual(started.toSorted());
  await expect.poll(async () => (await listed())[0]!.missed.length, { timeout: 60_000 }).toBeGreaterThan(0);
  expect((await listed())[0]!.last?.runId).toBe(started.toSorted().at(-1));
});

test("a file without schedules, and a pattern that is none, are refused with what to write", async () => {
  writeFileSync(join(folder, "none.ts"), "export const schedules = [];\n");
  writeFileSync(
    join(folder, "wrong.ts"),
    'export { tick } from "./schedules.ts";\nimport { tick } from "./schedules.ts";\nexport const schedules = [{ name: "w", cron: "every day", pipeline: tick, input: {} }];\n',
  );
  const wrong = await here("worker", "--schedules", "wrong.ts");
  expect({ code: wrong.code, stderr: wrong.stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("every day"),
  });
  const none = await here("schedule", "list", "none.ts");
  expect({ code: none.code, stderr: none.stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/none\.ts exports no list of schedules.*export const schedules/s),
  });
});
