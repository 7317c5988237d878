import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { createClient } from "../../src/core/api/index.ts";
import { openShowrunner, pipeline } from "../../src/index.ts";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const bell = pipeline("bell", {
  input: z.object({}),
  build: ({ job }) => ({ bell: job("bell", "image-1", { prompt: "a bell" }) }),
});

let service: Service;
let cwd: string;

beforeEach(async () => {
  service = await startService(["--stub", "--balance", "5"]);
  cwd = emptyFolder();
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  const show = await openShowrunner({ client, journal: join(cwd, ".showrunner/journal.db") });
  const run = await show.run(bell, {}, { id: "x", outDir: join(cwd, "out"), signal: AbortSignal.abort() });
  expect((await run.result()).pause?.reason).toBe("stopped");
  await show.close();
  await client.close();
});

afterEach(() => service?.stop());

test("resume with a mistyped secret pauses as credentials with exit 3; the right key continues [G40]", async () => {
  const env = { ...service.env, SHOWRUNNER_API_KEY: "test:sercet" };
  const refused = await cli(["resume", "x"], { cwd, env });
  expect(refused.code, refused.stderr).toBe(3);
  expect(refused.stderr).toMatch(/credentials: .*does not accept key test \(UNAUTHORIZED/);
  expect(refused.stderr).toMatch(
    /Next: .*showrunner resume x[\s\S]*first set SHOWRUNNER_API_KEY to a key that the service accepts/,
  );
  expect(JSON.parse((await cli(["show", "x", "--json"], { cwd, env })).stdout).pause.reason).toBe("credentials");
  const done = await cli(["resume", "x"], { cwd, env: service.env });
  expect(done.code, done.stderr).toBe(0);
  expect((await service.stats()).jobs_created).toBe(1);
});

test("a service that is not there pauses the run as unreachable with exit 3 after --give-up-after, and names what is wrong", async () => {
  await service.stop();
  const away = await cli(["resume", "x", "--give-up-after", "0s"], { cwd, env: service.env });
  expect(away.code, away.stderr).toBe(3);
  expect(away.stderr).toMatch(
    /unreachable: .*nothing listens at 127\.0\.0\.1:\d+ \(connection refused\) \[ECONNREFUSED\]/,
  );
  expect(away.stderr).toMatch(/Next: .*showrunner resume x[\s\S]*when the service is available/);
  expect((await cli(["runs"], { cwd, env: service.env })).stdout).toMatch(/paused/);
});

test("--give-up-after that is no duration is refused before anything is opened", async () => {
  const { code, stderr } = await cli(["resume", "x", "--give-up-after", "soon"], { cwd, env: service.env });
  expect(code, stderr).toBe(2);
  expect(stderr).toContain("--give-up-after 90s, 10m, 2h, 7d or never");
});
