import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createServer } from "./server.ts";
import type { AgentSession } from "./session.ts";

/** Serves the agent at this process's standard input; settles when it has hung up, or `signal` aborts. */
export async function serveStdio(session: AgentSession, signal: AbortSignal): Promise<void> {
  const server = createServer(session);
  const closed = new Promise<void>((done) => {
    server.onclose = done;
    process.stdin.once("end", done);
    process.stdin.once("close", done);
    signal.addEventListener("abort", () => done(), { once: true });
  });
  await server.connect(new StdioServerTransport());
  if (!signal.aborted) await closed;
  await server.close();
}
