import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { openShowrunner, type RunResult } from "../../../src/index.ts";
import { start } from "../../local-service/support/service.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { type LateRun, pictureBy } from "./fixtures/late-answer-run.ts";

/** A provider that answers once it is told to. */
async function provider() {
  const open: ServerResponse[] = [];
  const asked = Promise.withResolvers<void>();
  const server = createServer((_, response) => {
    open.push(response);
    asked.resolve();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests: open,
    asked: () => asked.promise,
  };
}

function startProcess(run: LateRun) {
  const [hook, script] = ["same-instance.mjs", "late-answer-run.ts"].map((name) =>
    join(import.meta.dirname, "fixtures", name),
  );
  const args = ["--import", hook!, script!, JSON.stringify(run)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, said: text(child.stdout!) };
}

test.each([
  ["a picture", 200, { status: "succeeded", report: { cost: "0.05", held: "0.00" } }],
  ["a refusal", 400, { status: "failed", report: { cost: "0.00", held: "0.00" } }],
])(
  "%s that comes to a process which was frozen for longer than its lease settles the run for the next one",
  async (_, status, end) => {
    const { baseUrl, apiKey } = await start();
    const painter = await provider();
    const home = newFolder();
    const opened = { baseUrl, apiKey, journal: join(home, "journal.db"), leaseMs: 3_000 };
    const first = startProcess({ ...opened, outDir: join(home, "out"), provider: painter.url });
    const show = await openShowrunner({ ...opened, notify: false });
    onTestFinished(() => show.close());
    const resume = async (): Promise<RunResult> => {
      for (;;) {
        const pipeline = pictureBy(painter.url);
        const ended = show.resume("x", { pipeline }).then((run) => run.result());
        const result = await ended.catch((error: { readonly code?: string }) => {
          if (error.code !== "RUN_BUSY") throw error;
          return null;
        });
        if (result !== null) return result;
        await sleep(200);
      }
    };
    await painter.asked();
    first.child.kill("SIGSTOP");
    expect(await resume()).toMatchObject({ status: "paused", pause: { reason: "unresolved" } });
    painter.requests[0]!.writeHead(status).end(status === 200 ? greyPng(32) : "");
    first.child.kill("SIGCONT");
    expect(await first.said).toBe("RUN_TAKEN_OVER\n");
    expect(await resume()).toMatchObject(end);
    expect(painter.requests).toHaveLength(1);
  },
  120_000,
);
