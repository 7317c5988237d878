/**
 * 500 readers follow 50 runs through the handler over HTTP, ten a run, while each run has six events a second: how long an
 * event takes from its instant in the journal to each reader, whether one is missed, and whether the server's memory grows. Server
 * and runs are a process of their own, on SQLite.
 */
import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import type { RunEvent } from "../../src/core/journal/events.ts";
import { openSqliteJournal } from "../../src/core/journal/sqlite.ts";
import { openShowrunner } from "../../src/index.ts";
import { startLocalService } from "../../src/local-service/index.ts";
import { createHandler } from "../../src/studio/handler/index.ts";
import type { Report } from "./harness.ts";
import { Driver, planned, stepEvents } from "./journal-runs.ts";

const RUNS = 50;
const READERS = 500;
/** More than ten minutes of them: a run whose steps are all through has no more events. */
const STEPS = 1_300;
const PACE_MS = 500;

interface Reported {
  readonly port?: number;
  readonly heapBytes?: number;
}

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const seconds = quick ? 10 : 600;
  const folder = mkdtempSync(join(tmpdir(), "bench-handler-"));
  const server = fork(import.meta.filename, ["--server", folder], { stdio: "inherit", execArgv: ["--expose-gc"] });
  try {
    const heaps: number[] = [];
    const { port } = await new Promise<Reported>((done) =>
      server.on("message", (reported: Reported) => (reported.port ? done(reported) : heaps.push(reported.heapBytes!))),
    );
    const delays: number[] = [];
    let missed = 0;
    const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
    const readers = Array.from({ length: READERS }, (_, n) =>
      follow(agent, port!, `run-${n % RUNS}`, (seq, before, delayMs) => {
        if (seq !== before + 1) missed += 1;
        if (delayMs !== null) delays.push(delayMs);
      }),
    );
    await Promise.all(readers.map(({ open }) => open));
    server.send("begin");
    await wait(seconds * 1_000);
    server.send("end");
    await wait(1_500);
    const lasts = readers.map(({ last }) => last());
    // Readers of one run have all come to the same event.
    const short = lasts.filter(
      (seq, n) => seq !== Math.max(...lasts.filter((_, other) => other % RUNS === n % RUNS)),
    ).length;
    const group = `${READERS} readers of ${RUNS} runs, ${seconds} s`;
    delays.sort((a, b) => a - b);
    report.figure(group, "an event reaches a reader after, median", "ms", delays[Math.floor(delays.length / 2)]!);
    report.figure(group, "p99", "ms", delays[Math.floor(delays.length * 0.99)]!, { most: 200 });
    report.figure(group, "events that a reader missed", "", missed + short, { most: 0 });
    report.figure(
      group,
      "heap at the end beside a quarter of the time",
      "×",
      heaps.at(-1)! / heaps[Math.floor(heaps.length / 4)]!,
      { most: 1.2 },
    );
    report.note(`${delays.length} events delivered; heap ${(heaps.at(-1)! / 2 ** 20).toFixed(0)} MiB`);
    agent.destroy();
  } finally {
    server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads one stream; `reported` gets each event's number, that of the one before, and how long it took where it came live. */
function follow(
  agent: Agent,
  port: number,
  runId: string,
  reported: (seq: number, before: number, delayMs: number | null) => void,
) {
  let last = 0;
  const began = Date.now();
  const open = new Promise<void>((done, failed) => {
    const request = get({ agent, port, host: "127.0.0.1", path: `/runs/${runId}/events` }, (response) => {
      let rest = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        done();
        const now = Date.now();
        const blocks = (rest + text).split("\n\n");
        rest = blocks.pop()!;
        for (const block of blocks) {
          const found = /^id: (\d+)\nevent: event\ndata: \{"seq":\d+,"at":(\d+)/.exec(block);
          if (found === null) continue;
          const [seq, at] = [Number(found[1]), Number(found[2])];
          reported(seq, last, at > began ? now - at : null);
          last = seq;
        }
      });
      response.on("error", () => {});
    });
    request.on("error", failed);
  });
  return { open, last: () => last };
}

/** The server's process: commits of 50 runs, and the handler that tells of them. */
async function serve(folder: string): Promise<void> {
  const service = await startLocalService({ renderer: "stub", dataDir: join(folder, "service") });
  const journal = await openSqliteJournal(join(folder, "journal.db"));
  const mediaDir = join(folder, "media");
  const show = await openShowrunner({ baseUrl: service.baseUrl, apiKey: service.apiKey, journal, mediaDir });
  const tags = { customer: "acme" };
  const first = { ...planned(STEPS), tags };
  const drivers = await Promise.all(Array.from({ length: RUNS }, (_, n) => Driver.start(journal, `run-${n}`, first)));
  const handler = createHandler(show, { pipelines: {}, authorize: () => ({ tags }) });
  const server = createServer(async (incoming, response) => {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const answer = await handler(new Request(`http://x${incoming.url}`, { signal: gone.signal }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    Readable.fromWeb(answer.body as never)
      .on("error", () => {})
      .pipe(response);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  let isOver = false;
  process.on("message", (said) => {
    if (said === "end") isOver = true;
    else void drive();
  });
  const one = async (driver: Driver, n: number) => {
    await wait((n / RUNS) * PACE_MS);
    await driver.commit([{ type: "run.started" }], { at: Date.now() });
    for (let step = 0; !isOver; step = (step + 1) % STEPS) {
      const [began, ...ended] = stepEvents(step) as [RunEvent, ...RunEvent[]];
      await driver.commit([began], { at: Date.now() });
      await wait(PACE_MS / 2);
      await driver.commit(ended, { at: Date.now() });
      await wait(PACE_MS / 2);
    }
  };
  const drive = () => Promise.all(drivers.map(one));
  setInterval(() => {
    globalThis.gc?.();
    process.send?.({ heapBytes: process.memoryUsage().heapUsed });
  }, 1_000);
  process.send?.({ port: (server.address() as AddressInfo).port });
}

if (process.argv[2] === "--server") await serve(process.argv[3]!);
