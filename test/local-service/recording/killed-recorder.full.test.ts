import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { RecordingFile } from "../../../src/local-service/recording/recording-file.ts";
import { readRecording } from "../../../src/local-service/replay/recording.ts";
import { answer, asker, Bench } from "./support/scripted.ts";

const paths = ["/balance", "/models", "/models/image-1", "/jobs/job_1"];
const bench = new Bench();
afterEach(() => bench.end());

/** A recorder in a process of its own, once it listens. */
async function recorderProcess(folder: string, baseUrl: string) {
  const fixture = join(import.meta.dirname, "fixtures/recorder-process.ts");
  const child = spawn(process.execPath, [fixture, folder, baseUrl], { stdio: ["ignore", "pipe", "inherit"] });
  bench.later(() => child.kill("SIGKILL"));
  const [address] = (await once(child.stdout, "data")) as [Buffer];
  return { child, ask: asker(address.toString().trim(), "k:recorded-0123456789") };
}

async function answersIn(folder: string, count: number): Promise<void> {
  const written = () => readFileSync(join(folder, "recording.jsonl"), "utf8").split("\n").length;
  // The head, a line an answer, and what is behind the last line break.
  while (written() < count + 2) await new Promise((resolve) => setImmediate(resolve));
}

test("a recorder killed within an answer leaves a folder that replays what was whole, and is continued", async () => {
  const folder = await bench.folder();
  let halfSent: (outgoing: ServerResponse) => void = () => {};
  const half = new Promise<ServerResponse>((resolve) => {
    halfSent = resolve;
  });
  const baseUrl = await bench.service(({ url }, outgoing) => {
    if (!url?.endsWith("/stream")) return answer(outgoing, 200, { said: url });
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.write("event: status\ndata: {}\n\nevent: sta", () => halfSent(outgoing));
  });
  const { child, ask } = await recorderProcess(folder, baseUrl);
  for (const path of paths) await ask(path);
  const reading = ask("/jobs/job_1/stream").catch(() => null);
  await half;
  await answersIn(folder, paths.length);
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await Promise.all([exited, reading]);

  const replay = await bench.replay(folder);
  for (const path of paths) expect(JSON.parse((await replay.ask(path)).text)).toEqual({ said: `/v3${path}` });
  expect((await replay.ask("/jobs/job_1/stream")).status).toBe(404);
  await bench.record(folder, baseUrl, (again) => again("/usage"));
  const { ask: continued } = await bench.replay(folder);
  expect((await continued("/models")).status).toBe(200);
  expect((await continued("/usage")).status).toBe(200);
});

test("a folder has one recorder: a second is refused by name, and a killed one stands in nobody's way", async () => {
  const folder = await bench.folder();
  const baseUrl = await bench.service(({ url }, outgoing) => answer(outgoing, 200, { said: url }));
  const { child, ask } = await recorderProcess(folder, baseUrl);
  await ask("/balance");
  await answersIn(folder, 1);
  const before = readFileSync(join(folder, "recording.jsonl"));
  const second = () => bench.record(folder, baseUrl, (again) => again("/usage"));
  await expect(second()).rejects.toThrow(`Process ${child.pid} is recording to ${folder}`);
  expect(readFileSync(join(folder, "recording.jsonl")).equals(before)).toBe(true);
  await ask("/models");
  await answersIn(folder, 2);
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
  await second();
  await second();
  const { ask: replayed } = await bench.replay(folder);
  for (const path of ["/balance", "/models", "/usage"]) expect((await replayed(path)).status).toBe(200);
});

test("wherever a kill tears the file, whole lines are read and a next recorder goes on behind them", async () => {
  const [whole, torn] = [await bench.folder(), await bench.folder()];
  const service = "https://x.test/v3";
  const line = (said: string) => ({ request: "GET /balance", status: 200, headers: {}, answer: { said } });
  const file = await RecordingFile.open(whole, service, 0);
  for (const said of ["ä", "\n", "}"]) await file.add(line(said), 1);
  await file.close();
  const bytes = readFileSync(join(whole, "recording.jsonl"));
  const lines = (upTo: number) => bytes.subarray(0, upTo).filter((byte) => byte === 10).length;
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length), async (size) => {
      writeFileSync(join(torn, "recording.jsonl"), bytes.subarray(0, size));
      const answers = lines(size) - 1;
      if (answers < 0) expect(() => readRecording(torn)).toThrow("cannot be replayed");
      else expect(readRecording(torn).answers).toEqual(readRecording(whole).answers.slice(0, answers));
      const next = await RecordingFile.open(torn, service, 2);
      await next.add(line("next"), 3);
      await next.close();
      expect(readRecording(torn).answers.map((one) => one.answer)).toEqual([
        ...readRecording(whole)
          .answers.slice(0, Math.max(0, answers))
          .map((one) => one.answer),
        { said: "next" },
      ]);
    }),
  );
});
