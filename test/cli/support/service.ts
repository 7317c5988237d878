import type { ChildProcess } from "node:child_process";
import { runCli } from "../../../src/cli/program.ts";
import { emptyFolder } from "./cli.ts";
import { fakeIo } from "./fake-io.ts";

/** Statistics from the local service's operator API. */
export interface ServiceStats {
  readonly jobs_created: number;
  readonly jobs_by_model: Readonly<Record<string, number>>;
  readonly replayed_submits: number;
  readonly charged_micros: number;
  readonly refunded_micros: number;
  /** Number of requests by route, such as `POST /models/{model}`, and status. */
  readonly requests: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface Service extends AsyncDisposable {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Environment for commands that use this service. */
  readonly env: Readonly<Record<string, string>>;
  stats(): Promise<ServiceStats>;
  /** Sets the balance through the operator API. */
  fund(usd: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts `showrunner serve` in this process, on a free port and with a new folder. Its jobs take almost no time. */
export async function startService(flags: readonly string[] = []): Promise<Service> {
  const { io, stdout, stderr, interrupt } = fakeIo({ env: { SHOWRUNNER_SERVE_KEY: "test:secret" } });
  const listening = Promise.withResolvers<void>();
  const write = (text: string) => {
    io.stdout.write(text);
    listening.resolve();
  };
  const args = ["serve", "--port", "0", "--json", "--data", emptyFolder(), "--speed", "200", ...flags];
  const end = runCli(args, { ...io, stdout: { write } });
  await Promise.race([listening.promise, end]);
  if (stdout() === "") throw new Error(`serve ended early: ${stderr()}`);
  const { base_url: baseUrl, api_key: apiKey } = JSON.parse(stdout()) as { base_url: string; api_key: string };
  const operator = new URL("/_local/", baseUrl);
  const stop = async () => {
    interrupt();
    await end;
  };
  return {
    baseUrl,
    apiKey,
    env: { SHOWRUNNER_BASE_URL: baseUrl, SHOWRUNNER_API_KEY: apiKey },
    stats: async () => (await (await fetch(new URL("stats", operator))).json()) as ServiceStats,
    async fund(usd) {
      const answer = await fetch(new URL("wallet", operator), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ add: usd }),
      });
      if (!answer.ok) throw new Error(`funding failed: ${answer.status} ${await answer.text()}`);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The JSON document that `serve --json` prints when it listens. */
export function firstDocument(
  child: ChildProcess,
  end: Promise<{ readonly stderr: string }>,
): Promise<{ readonly base_url: string; readonly api_key: string }> {
  return new Promise((found, failed) => {
    let text = "";
    child.stdout?.on("data", (chunk: string) => {
      text += chunk;
      if (text.trimEnd().endsWith("}")) found(JSON.parse(text));
    });
    end.then(({ stderr }) => failed(new Error(`serve ended early: ${stderr}`)));
  });
}
