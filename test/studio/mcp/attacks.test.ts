import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  createMemoryJournal,
  file,
  type JournalStore,
  openShowrunner,
  pipeline,
  type Showrunner,
} from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { AGENT_TAG, AgentSession } from "../../../src/studio/mcp/index.ts";
import { boundedLines } from "../../../src/studio/mcp/transports.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { isFull } from "../../support/sample.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { words } from "../../support/word-list.ts";
import { agreed } from "./support/agent.ts";
import { clientOf, poster } from "./support/in-memory.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const BUDGET_MICROS = 100_000;
const SECRET = "a sentence that only a person may read";

const voice = pipeline("voice", {
  input: z.object({ sample: file("audio") }),
  build: ({ input, upload }) => ({ sample: upload("sample", input.sample) }),
});
const film = pipeline("film", {
  input: z.object({}),
  build: ({ job, approve }) => ({ ok: approve("ok", job("still", "image-1", { prompt: SECRET })) }),
});

let service: LocalService;
let journal: JournalStore;
let show: Showrunner;
let session: AgentSession;
let client: Client;
let folder: string;
/** Events of each run that is a person's. */
let before: ReadonlyMap<string, number>;
const FOREIGN = ["mine", "agent-mine"];

beforeAll(async () => {
  folder = newFolder();
  await mkdir(join(folder, "files"));
  await writeFile(join(folder, "secret.wav"), SECRET);
  service = await startLocalService({ renderer: "stub", speed: 100, balance: 100 });
  journal = createMemoryJournal();
  const { baseUrl, apiKey } = service;
  const caps = [`${AGENT_TAG}:${BUDGET_MICROS / 1e6}`];
  const mediaDir = join(folder, "media");
  show = await openShowrunner({ ...{ baseUrl, apiKey, journal, mediaDir, caps }, filesDir: join(folder, "files") });
  // A person's, one of them by a name that agents' runs have.
  for (const id of FOREIGN)
    await (await show.run(film, {}, { id, budget: "1", outDir: join(folder, "out", id) })).result();
  before = new Map(await Promise.all(FOREIGN.map(async (id) => [id, (await journal.run(id))!.lastSeq] as const)));
  session = new AgentSession({
    ...{ show, journal, filesDir: join(folder, "files") },
    pipelines: [poster, voice, film].map((one) => {
      return { name: one.name, pipeline: one, source: { file: join(folder, "none.ts"), exportName: "default" } };
    }),
    ...{ budgetMicros: BUDGET_MICROS, runBudgetMicros: 40_000, allowApprove: true, mayAsk: true },
    log: () => {},
  });
  client = await clientOf(session);
});
afterAll(async () => {
  await session.idle();
  await show.close();
  await service.close();
});

const evilText = fc.oneof(
  fc.constantFrom(...FOREIGN, "ok", "still", "../../etc/passwd", "/etc/passwd", "\u0000", "__proto__", "constructor"),
  fc.constantFrom("http://127.0.0.1:1/x", "file:///etc/passwd", "showrunner://runs/mine", "agent-../mine", "mine%2f"),
  fc.string({ maxLength: 60, unit: anyCharacter }),
  fc.integer({ min: 1, max: 200_000 }).map((length) => "A".repeat(length)),
);
const evil = fc.oneof(
  evilText,
  fc.constantFrom(null, -1, 1e308, Number.MAX_SAFE_INTEGER, true, [], {}),
  fc.dictionary(evilText, evilText, { maxKeys: 3 }),
);
const run = fc.oneof(fc.constantFrom(...FOREIGN), fc.constantFrom("agent-a", "agent-b"), evilText);
const paths = () =>
  fc.constantFrom("../secret.wav", join(folder, "secret.wav"), `/${"/".repeat(5000)}etc/passwd`, "/etc/hostname");

/** A call that a hostile text could have an agent make: well-formed, nearly so, or not at all. */
const hostile = fc.oneof(
  fc.record({
    tool: fc.constantFrom("run_status", "resume_run", "stop_run", "show_media", "wait_for_run"),
    input: fc.record({ run }),
  }),
  fc.record({
    tool: fc.constant("approve_step"),
    input: fc.record(
      { run, step: fc.oneof(fc.constant("ok"), evilText), decision: fc.constantFrom("approve", "reject"), pick: evil },
      { requiredKeys: ["run", "step", "decision"] },
    ),
  }),
  fc.record({
    tool: fc.constant("run_pipeline"),
    input: fc.record({
      pipeline: fc.constant("poster"),
      name: fc.oneof(fc.constantFrom("a", "b", "c", "mine"), evilText),
      input: fc.record({ subject: fc.constantFrom("x", "y"), copies: fc.constantFrom(1, 2, 5, 50) }),
    }),
  }),
  fc.record({
    tool: fc.constantFrom("run_pipeline", "plan_pipeline", "quote_pipeline"),
    input: fc.record({
      pipeline: fc.constant("voice"),
      name: fc.constant("v"),
      input: fc.record({ sample: fc.oneof(fc.nat(3).chain(paths), evilText) }),
    }),
  }),
  fc.record({
    tool: fc.constantFrom(
      ...words("run_pipeline quote_pipeline describe_pipeline list_runs show_model list_pipelines"),
    ),
    input: fc.dictionary(
      fc.constantFrom("pipeline", "name", "input", "budget", "run", "max_unquoted", "journal", "key"),
      evil,
      { maxKeys: 4 },
    ),
  }),
);

/** Requests that call no tool: forged tasks, resources that are a person's, and what no schema of the protocol has. */
const request = fc.oneof(
  fc.record({
    method: fc.constantFrom("tasks/get", "tasks/cancel", "tasks/result"),
    params: fc.record({ taskId: run }),
  }),
  fc.record({
    method: fc.constant("resources/read"),
    params: fc.record({ uri: run.map((id) => `showrunner://runs/${id}`) }),
  }),
  fc.record({
    method: fc.constantFrom("tools/call", "tasks/list", "prompts/get", "resources/read", "__proto__", "constructor"),
    params: fc.dictionary(fc.constantFrom("name", "arguments", "task", "uri", "taskId", "_meta", "__proto__"), evil),
  }),
);

interface Hostile {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

interface Sent {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

async function attack(one: Hostile | Sent): Promise<void> {
  if ("tool" in one) return call(one);
  const asked = { method: one.method, params: { ...one.params } } as Parameters<Client["request"]>[0];
  const answer = await client.request(asked, z.looseObject({})).catch((error: Error) => error);
  expect(answer instanceof Error ? answer.message : JSON.stringify(answer)).not.toContain(SECRET);
  if (one.method === "tasks/list" && !(answer instanceof Error)) {
    // Whatever it names, it lists the runs of agents.
    const { tasks } = answer as unknown as { readonly tasks: readonly { readonly taskId: string }[] };
    expect(tasks.filter(({ taskId }) => FOREIGN.includes(taskId))).toEqual([]);
    return;
  }
  const { taskId, uri } = one.params;
  const named = taskId ?? (typeof uri === "string" ? uri.replace("showrunner://runs/", "") : null);
  if (typeof named === "string" && FOREIGN.includes(named)) expect(answer).toBeInstanceOf(Error);
}

async function call({ tool, input }: Hostile): Promise<void> {
  // Waiting is no attack, and a start without its quote is none.
  const waiting = tool === "wait_for_run" ? { ...input, timeout_seconds: 1 } : input;
  const given = tool === "run_pipeline" ? await agreed(client, waiting) : waiting;
  const answer = (await client.callTool({ name: tool, arguments: { ...given } })) as CallToolResult;
  const text = JSON.stringify(answer);
  expect(text.length).toBeLessThan(400_000);
  expect(text).not.toContain(SECRET);
  expect(text).not.toContain("root:");
  for (const one of answer.content) if (one.type === "text") expect(() => JSON.parse(one.text)).not.toThrow();
  const named = input["run"];
  if (typeof named === "string" && FOREIGN.includes(named)) expect(answer.isError, text).toBe(true);
}

async function expectNothingTouched(): Promise<void> {
  for (const [id, lastSeq] of before) {
    expect((await journal.run(id))!.lastSeq).toBe(lastSeq);
    expect(await journal.inbox(id)).toEqual([]);
  }
  const agents = service.stats().charged_micros - FOREIGN.length * 20_000;
  expect(agents).toBeLessThanOrEqual(BUDGET_MICROS);
  expect(await readdir(join(folder, "files"))).toEqual([]);
}

const ROUNDS = isFull ? 115 : 4;

test("hostile calls, many at once, reach no person's run, no file, and no dollar above the budget [agents]", async () => {
  let calls = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ arbitrary: hostile, weight: 2 }, request), { minLength: 10, maxLength: 30, size: "max" }),
      async (attacks) => {
        calls += attacks.length;
        await Promise.all(attacks.map(attack));
        await session.idle();
        await expectNothingTouched();
      },
    ),
    { numRuns: ROUNDS },
  );
  expect(calls).toBeGreaterThanOrEqual(10 * ROUNDS);
});

test("resources and tasks of people are none, however they are written", async () => {
  const uris = FOREIGN.flatMap((id) => [
    `showrunner://runs/${id}`,
    `showrunner://runs/${id}/media/still/0`,
    `showrunner://runs/%6dine/../${id}`,
  ]);
  for (const uri of uris) await expect(client.readResource({ uri })).rejects.toThrow();
  const { tasks } = client.experimental;
  for (const id of FOREIGN) {
    await expect(tasks.getTask(id)).rejects.toThrow();
    await expect(tasks.cancelTask(id)).rejects.toThrow();
  }
  await expectNothingTouched();
});

test("lines of any size and cut come through whole, or are refused whole", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(300), { maxLength: 20 }), fc.integer({ min: 1, max: 997 }), async (sizes, cut) => {
      const refused: string[] = [];
      const lines = boundedLines(100, (message) => refused.push(message));
      const passed: Buffer[] = [];
      lines.on("data", (chunk: Buffer) => void passed.push(chunk));
      // The last line never ends.
      const all = Buffer.from(`${sizes.map((size) => `${"x".repeat(size)}\n`).join("")}${"y".repeat(150)}`);
      for (let from = 0; from < all.length; from += cut) lines.write(all.subarray(from, from + cut));
      await new Promise<void>((done) => lines.end(done));
      const short = sizes.filter((size) => size < 100);
      expect(Buffer.concat(passed).toString()).toBe(short.map((size) => `${"x".repeat(size)}\n`).join(""));
      const told = (size: number) => `A message of ${size + 1} bytes is too long; the limit is 100 bytes.`;
      expect(refused).toEqual(sizes.filter((size) => size >= 100).map(told));
    }),
  );
});
