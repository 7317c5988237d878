import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { builtPage } from "../../../scripts/dashboard-page.ts";
import type { RunPatch } from "../../../src/studio/dashboard/views/document.ts";
import { type CliEnd, cli, emptyFolder, root, startCli } from "../../cli/support/cli.ts";
import { startService } from "../../cli/support/service.ts";
import { streamOf } from "./support/listen.ts";

interface Running {
  readonly url: URL;
  readonly cookie: string;
  stop(): Promise<CliEnd>;
}

/** The command in a process of its own, as soon as it prints its address. */
async function startDashboard(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Running> {
  await builtPage();
  const { child, end } = startCli(["dashboard", ...args], { cwd, env });
  const line = await new Promise<string>((found, failed) => {
    let text = "";
    child.stdout?.on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("\n")) found(text.trim());
    });
    end.then(({ stderr }) => failed(new Error(`the dashboard ended early: ${stderr}`)));
  });
  const answer = await fetch(line);
  const cookie = answer.headers.get("set-cookie")!.split(";")[0]!;
  const stop = () => {
    child.kill("SIGINT");
    return end;
  };
  return { url: new URL(line), cookie, stop };
}

test("a dashboard shows a run that another process makes, from its start to its end, and comes back where it was", async () => {
  await using service = await startService(["--stub"]);
  const cwd = emptyFolder();
  const dashboard = await startDashboard(["--port", "0"], cwd, service.env);
  const { origin } = dashboard.url;
  const headers = { cookie: dashboard.cookie };
  await using list = await streamOf(`${origin}/api/live`, headers);
  await list.next("runs");
  const args = ["run", join(root, "recipes/image-to-video.ts"), "--id", "seen", "--budget", "5"];
  const run = cli(args, { cwd, env: service.env });
  await list.next("runs");
  await using stream = await streamOf(`${origin}/api/live?run=seen`, headers);
  const statuses = new Set<string>();
  while (!statuses.has("succeeded")) statuses.add(((await stream.next("run")).data as RunPatch).head.status);
  expect((await run).code).toBe(0);
  const picture = await fetch(`${origin}/media/seen/picture/0`, { headers });
  expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/png"]);
  const { code, stderr } = await dashboard.stop();
  expect(code).toBe(0);
  expect(stderr).toContain("can be resumed");

  // Its token is made once for a journal: a page that is open survives a restart.
  expect(statSync(join(cwd, ".showrunner", "dashboard-token")).mode & 0o777).toBe(0o600);
  const again = await startDashboard(["--port", dashboard.url.port], cwd, service.env);
  expect(again.url.href).toBe(dashboard.url.href);
  expect((await fetch(`${origin}/api/runs`, { headers })).status).toBe(200);
  await again.stop();
});
