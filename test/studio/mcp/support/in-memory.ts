import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { type CallToolResult, ElicitRequestSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import {
  createMemoryJournal,
  type JournalStore,
  openShowrunner,
  pipeline,
  type Showrunner,
} from "../../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../../src/local-service/index.ts";
import { AGENT_TAG, AgentSession } from "../../../../src/studio/mcp/index.ts";
import { createServer } from "../../../../src/studio/mcp/server.ts";
import type { McpOptions } from "../../../../src/studio/mcp/session.ts";
import { fastFolder } from "../../../../src/testing/surroundings.ts";

/** A pipeline with a picture, an approval, and another picture after it; the pictures cost 0.02 dollars each. */
export const film = pipeline("film", {
  input: z.object({ name: z.string().default("x") }),
  build: ({ input, job, approve }) => {
    const still = job("still", "image-1", { prompt: input.name });
    return { after: job("after", "image-1", { prompt: "after", images: [approve("ok", still)] }) };
  },
});

export const poster = pipeline("poster", {
  input: z.object({ subject: z.string().min(1), copies: z.number().int().min(1).max(50).default(1) }),
  build: ({ input, job }) => ({
    all: Array.from({ length: input.copies }, (_, n) => job(`p-${n}`, "image-1", { prompt: input.subject, seed: n })),
  }),
});

export interface SessionWorld extends AsyncDisposable {
  readonly service: LocalService;
  readonly show: Showrunner;
  readonly journal: JournalStore;
  readonly session: AgentSession;
  /** Opens another session with the same runs, as after a restart with other limits. */
  sessionWith(more: Partial<McpOptions>): AgentSession;
  /** Starts a film, and settles once it waits for the approval; one picture is paid for. */
  waitingFilm(name: string): Promise<string>;
  decisions(runId: string): Promise<number>;
}

/** Opens an agent session with a local service in this process. */
export async function sessionWorld(budgetMicros: number, more: Partial<McpOptions> = {}): Promise<SessionWorld> {
  const service = await startLocalService({ renderer: "stub", speed: 200, balance: 100 });
  const [journal, folder] = [createMemoryJournal(), await fastFolder("mcp-session-")];
  const mediaDir = join(folder, "media");
  const { baseUrl, apiKey } = service;
  const show = await openShowrunner({
    baseUrl,
    apiKey,
    journal,
    mediaDir,
    caps: [`${AGENT_TAG}:${budgetMicros / 1e6}`],
  });
  const sessionWith = (other: Partial<McpOptions>) =>
    new AgentSession({
      ...{ show, journal, filesDir: folder, budgetMicros, runBudgetMicros: null },
      pipelines: [film, poster].map((one) => {
        return { name: one.name, pipeline: one, source: { file: join(folder, "none.ts"), exportName: "default" } };
      }),
      ...{ allowApprove: false, mayAsk: true, log: () => {}, ...more, ...other },
    });
  const session = sessionWith({});
  return {
    ...{ service, show, journal, session, sessionWith },
    async waitingFilm(name) {
      const { id: quote } = await session.quote("film", { name }, { keep: true });
      const id = await session.start("film", name, { name }, { agreed: quote! });
      await session.idle();
      return id;
    },
    async decisions(runId) {
      return (await journal.read(runId)).filter(({ event }) => event.type === "approval.decided").length;
    },
    async [Symbol.asyncDispose]() {
      await session.idle();
      await show.close();
      await service.close();
    },
  };
}

export type Answers = (message: string) => ElicitResult | Promise<ElicitResult>;

/** Connects the official client to a session. Without `answers`, the client's program cannot ask its user. */
export async function clientOf(session: AgentSession, answers?: Answers): Promise<Client> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createServer(session).connect(ours);
  const info = { name: "test", version: "1" };
  const client =
    answers === undefined ? new Client(info) : new Client(info, { capabilities: { elicitation: { form: {} } } });
  if (answers !== undefined) client.setRequestHandler(ElicitRequestSchema, ({ params }) => answers(params.message));
  await client.connect(theirs);
  return client;
}

export async function decide(client: Client, run: string, more: object = {}): Promise<CallToolResult> {
  const input = { run, step: "ok", decision: "approve", ...more };
  return (await client.callTool({ name: "approve_step", arguments: input })) as CallToolResult;
}

interface RawMessage {
  readonly id?: string | number;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A client that sends protocol messages directly, and whose user can be asked. */
export interface RawClient {
  send(message: unknown): void;
  /** Returns the first past or future message that satisfies the condition. */
  until(fits: (message: RawMessage) => boolean): Promise<RawMessage>;
  close(): Promise<void>;
}

export async function rawClient(session: AgentSession): Promise<RawClient> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const came: RawMessage[] = [];
  const waiting = new Set<() => void>();
  theirs.onmessage = (message) => {
    came.push(message as RawMessage);
    for (const look of [...waiting]) look();
  };
  await createServer(session).connect(ours);
  await theirs.start();
  const raw: RawClient = {
    send: (message) => void theirs.send(message as Parameters<typeof theirs.send>[0]),
    until: (fits) =>
      new Promise((done) => {
        const look = () => {
          const found = came.find(fits);
          if (found === undefined) return;
          waiting.delete(look);
          done(found);
        };
        waiting.add(look);
        look();
      }),
    close: () => theirs.close(),
  };
  const clientInfo = { name: "raw", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: { elicitation: { form: {} } }, clientInfo };
  raw.send({ jsonrpc: "2.0", id: "hello", method: "initialize", params });
  await raw.until(({ id }) => id === "hello");
  raw.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return raw;
}
