/** A Restate server for a test: in a temporary folder, on free ports, removed with the test. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Absence } from "./absence.ts";
import { freePort } from "./free-port.ts";
import { serverUp, withSecondTry } from "./server-up.ts";

const folderOfPackage = join(import.meta.dirname, "../fleet/worker/restate");
const program = join(
  folderOfPackage,
  `node_modules/@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
);

export const lacksRestate = (): Absence | null =>
  existsSync(program)
    ? null
    : { what: "Restate's server", cure: "npm install --prefix test/fleet/worker/restate --no-save --no-package-lock" };

export class RestateServer {
  readonly ingress: string;
  readonly admin: string;
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  #server: ChildProcess | null = null;

  private constructor(folder: string, [node, ingress, admin]: readonly number[], settings: NodeJS.ProcessEnv) {
    this.ingress = `http://127.0.0.1:${ingress}`;
    this.admin = `http://127.0.0.1:${admin}`;
    this.#folder = folder;
    this.#env = {
      PATH: process.env.PATH,
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}/`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_DEFAULT_NUM_PARTITIONS: "2",
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "256MB",
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_LOG_FILTER: "warn",
      RESTATE_LOG_DISABLE_ANSI_CODES: "true",
      ...settings,
    };
  }

  /** Starts a server. `settings`: further environment variables of the server. */
  static start(settings: NodeJS.ProcessEnv = {}): Promise<RestateServer> {
    return withSecondTry(() => RestateServer.#start(settings));
  }

  static async #start(settings: NodeJS.ProcessEnv): Promise<RestateServer> {
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    const server = new RestateServer(mkdtempSync(join(tmpdir(), "restate-")), ports, settings);
    try {
      await server.startServer();
    } catch (error) {
      await server.remove();
      throw error;
    }
    return server;
  }

  async startServer(): Promise<void> {
    const log = openSync(join(this.#folder, "server.log"), "a");
    const args = ["--no-logo", "--base-dir", join(this.#folder, "data")];
    const child = spawn(program, args, { stdio: ["ignore", log, log], env: this.#env });
    closeSync(log);
    this.#server = child;
    process.once("exit", () => child.kill("SIGKILL"));
    const health = [`${this.admin}/health`, `${this.ingress}/restate/health`];
    await serverUp({
      name: "Restate",
      child,
      answers: async () => (await Promise.all(health.map((at) => fetch(at)))).every(({ ok }) => ok),
      log: () => this.log(),
    });
  }

  /** Stops the server: with SIGKILL as if the machine lost power, with SIGTERM in good order. */
  async stopServer(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    const child = this.#server;
    this.#server = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }

  /** Queries Restate's own tables, such as `sys_invocation`. */
  async query<Row>(sql: string): Promise<readonly Row[]> {
    const answer = await fetch(`${this.admin}/query`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query: sql }),
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as { readonly rows: readonly Row[] }).rows;
  }

  /** The server's log. */
  log(): string {
    return readFileSync(join(this.#folder, "server.log"), "utf8");
  }

  async remove(): Promise<void> {
    await this.stopServer();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
