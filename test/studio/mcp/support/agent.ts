import { once } from "node:events";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type CallToolResult, ElicitRequestSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import type { LocalService } from "../../../../src/local-service/index.ts";
import { root, startCli } from "../../../cli/support/cli.ts";
import { compileCache } from "../../../support/compile-cache.ts";
import { ownCommand } from "../../../support/own-command.ts";
import { newFolder } from "../../../support/temporary-folder.ts";

export const PIPELINES = join(root, "test/studio/mcp/fixtures/pipelines");

export type TransportName = "stdio" | "http";

export interface Answer {
  readonly isError: boolean;
  /** The joined texts of the response. */
  readonly text: string;
  /** The first text as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  readonly json: any;
  readonly content: CallToolResult["content"];
}

/** An agent connected to `showrunner mcp` by the official client. */
export interface Agent extends AsyncDisposable {
  readonly client: Client;
  readonly cwd: string;
  call(tool: string, input?: Record<string, unknown>): Promise<Answer>;
  /** Disconnects, and settles with the exit code once the server's process has ended (stdio). */
  hangUp(): Promise<void>;
  readonly stderr: () => string;
}

export interface AgentOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  readonly cwd?: string;
  readonly folder?: string;
  /** The answer of the agent's user to questions. Default: the agent's program cannot ask. */
  readonly person?: (message: string) => ElicitResult;
}

export function connect(transport: TransportName, options: AgentOptions): Promise<Agent> {
  return transport === "stdio" ? overStdio(options) : overHttp(options);
}

function newClient(person?: AgentOptions["person"]): Client {
  const info = { name: "test", version: "1" };
  if (person === undefined) return new Client(info);
  const client = new Client(info, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => person(params.message));
  return client;
}

async function overStdio(options: AgentOptions): Promise<Agent> {
  const { env, flags = [], cwd = newFolder(), folder = PIPELINES, person } = options;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [ownCommand, "mcp", folder, ...flags],
    env: { PATH: process.env["PATH"] ?? "", ...compileCache, ...env },
    cwd,
    stderr: "pipe",
  });
  let said = "";
  transport.stderr?.on("data", (text) => {
    said += text;
  });
  const client = newClient(person);
  await client.connect(transport);
  return agent(client, { cwd, stderr: () => said, end: async () => {} });
}

export async function serveHttp({ env, flags = [], cwd = newFolder() }: AgentOptions) {
  const { child, end } = startCli(["mcp", PIPELINES, "--http", "--port", "0", "--json", ...flags], { cwd, env });
  const [said] = await Promise.race([
    once(child.stdout!, "data"),
    end.then(({ stderr }) => Promise.reject(new Error(stderr))),
  ]);
  const { url, token } = JSON.parse(String(said)) as { readonly url: string; readonly token: string };
  return {
    ...{ url, token, cwd },
    async stop() {
      child.kill("SIGTERM");
      return end;
    },
  };
}

export async function connectHttp(url: string, token: string): Promise<Client> {
  const client = newClient();
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return client;
}

async function overHttp(options: AgentOptions): Promise<Agent> {
  const served = await serveHttp(options);
  const client = await connectHttp(served.url, served.token);
  return agent(client, { cwd: served.cwd, stderr: () => "", end: async () => void (await served.stop()) });
}

function agent(
  client: Client,
  { cwd, stderr, end }: Pick<Agent, "cwd" | "stderr"> & { readonly end: () => Promise<void> },
): Agent {
  const hangUp = async () => {
    await client.close();
    await end();
  };
  const call: Agent["call"] = (tool, input) => callAgreed(client, tool, input);
  return { client, cwd, stderr, call, hangUp, [Symbol.asyncDispose]: hangUp };
}

/** Calls a tool like an agent: a run is first priced, and then started with the quote. */
export async function callAgreed(client: Client, tool: string, input: Record<string, unknown> = {}): Promise<Answer> {
  return call(client, tool, tool === "run_pipeline" ? await agreed(client, input) : input);
}

/** Adds a quote to the input of `run_pipeline` if the run has a price. */
export async function agreed(client: Client, input: Record<string, unknown>): Promise<Record<string, unknown>> {
  if ("quote" in input) return input;
  const priced = await call(client, "quote_pipeline", { pipeline: input["pipeline"], input: input["input"] ?? {} });
  const quote: unknown = priced.json?.id;
  return typeof quote === "string" ? { ...input, quote } : input;
}

export async function call(client: Client, tool: string, input: Record<string, unknown> = {}): Promise<Answer> {
  const result = (await client.callTool({ name: tool, arguments: input })) as CallToolResult;
  const text = result.content.flatMap((one) => (one.type === "text" ? [one.text] : [])).join("\n");
  const json = result.isError !== true && text.startsWith("{") ? JSON.parse(text) : null;
  const list = text.startsWith("[") ? JSON.parse(text) : null;
  return { isError: result.isError === true, text, json: json ?? list, content: result.content };
}

/** The variables by which the command finds a service. */
export const envOf = ({ baseUrl, apiKey }: Pick<LocalService, "baseUrl" | "apiKey">): Record<string, string> => {
  return { SHOWRUNNER_BASE_URL: baseUrl, SHOWRUNNER_API_KEY: apiKey };
};

/** Starts the portrait, and settles once it waits for a decision. */
export async function waitingFace(one: Agent): Promise<Answer> {
  await one.call("run_pipeline", { pipeline: "portrait", name: "face", input: {} });
  return one.call("wait_for_run", { run: "agent-face" });
}
