/**
 * A PostgreSQL cluster for a test: in a temporary folder, on a free port, removed with the test. It runs Debian's newest server, or
 * the server on the path, with the durability of a production server.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { on, once } from "node:events";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Absence } from "./absence.ts";
import { freePort } from "./free-port.ts";
import { serverUp, withSecondTry } from "./server-up.ts";

/** Folder of the server's programs: from SHOWRUNNER_TEST_POSTGRES, or else the newest version; null if there is no server. */
export function postgresBin(): string | null {
  if (process.env.SHOWRUNNER_TEST_POSTGRES) return process.env.SHOWRUNNER_TEST_POSTGRES;
  const root = "/usr/lib/postgresql";
  const newest = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a))[0] : undefined;
  if (newest !== undefined && existsSync(join(root, newest, "bin", "postgres"))) return join(root, newest, "bin");
  try {
    return execFileSync("pg_config", ["--bindir"], { encoding: "utf8" }).trim();
  } catch {
    return null;
  }
}

export const lacksPostgres = (): Absence | null =>
  postgresBin() === null ? { what: "PostgreSQL", cure: "apt-get install postgresql" } : null;

/** Wraps a command to run as another user, because the server refuses to run as root. */
export function asServer(program: string, args: readonly string[]): [string, string[]] {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot) return [program, [...args]];
  return ["setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", program, ...args]];
}

export interface ClusterOptions {
  /** Folder of the programs. Default: {@link postgresBin}. */
  readonly bin?: string;
  /** Settings of the server, such as `max_connections`. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** True to require the password `pa55word` from all users. */
  readonly password?: boolean;
}

export class PostgresCluster {
  readonly folder: string;
  readonly port: number;
  readonly #bin: string;
  readonly #options: ClusterOptions;
  #server: ChildProcess | null = null;
  #databases = 0;

  private constructor(folder: string, port: number, bin: string, options: ClusterOptions) {
    this.folder = folder;
    this.port = port;
    this.#bin = bin;
    this.#options = options;
  }

  static start(options: ClusterOptions = {}): Promise<PostgresCluster> {
    return withSecondTry(() => PostgresCluster.#start(options));
  }

  static async #start(options: ClusterOptions): Promise<PostgresCluster> {
    const bin = options.bin ?? postgresBin();
    if (bin === null) throw new Error("PostgreSQL is not installed");
    const folder = mkdtempSync(join(tmpdir(), "postgres-"));
    chmodSync(folder, 0o755);
    if (process.getuid?.() === 0) execFileSync("chown", ["postgres", folder]);
    const cluster = new PostgresCluster(folder, await freePort(), bin, options);
    writeFileSync(join(folder, "password"), "pa55word\n");
    const auth =
      options.password === true ? ["-A", "scram-sha-256", "--pwfile", join(folder, "password")] : ["-A", "trust"];
    const args = ["-D", join(folder, "data"), "-U", "tester", "-E", "UTF8", "--no-locale", "--no-sync", ...auth];
    execFileSync(...asServer(join(bin, "initdb"), args), { stdio: ["ignore", "ignore", "pipe"] });
    try {
      await cluster.startServer();
    } catch (error) {
      await cluster.remove();
      throw error;
    }
    return cluster;
  }

  /** Path of psql, which a server from npm does not include. */
  get #psql(): string {
    const own = join(this.#bin, "psql");
    return existsSync(own) ? own : "psql";
  }

  /** Creates an empty database and returns its name. */
  async createDatabase(): Promise<string> {
    this.#databases += 1;
    const name = `db${this.#databases}`;
    this.psql(`CREATE DATABASE ${name}`, "postgres");
    return this.url(name);
  }

  url(database: string, port = this.port): string {
    const password = this.#options.password === true ? ":pa55word" : "";
    return `postgres://tester${password}@127.0.0.1:${port}/${database}`;
  }

  /** Runs a statement and returns its result as text. */
  psql(sql: string, database: string, port = this.port): string {
    const args = ["-X", "-v", "ON_ERROR_STOP=1", "-tAc", sql, this.url(database, port)];
    return execFileSync(this.#psql, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  }

  /** The server's log. */
  log(): string {
    return readFileSync(join(this.folder, "server.log"), "utf8");
  }

  /** Opens a session whose transactions stay open between calls. */
  psqlSession(database: string) {
    const child = spawn(this.#psql, ["-X", "-qtA", this.url(database)], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    return {
      async run(sql: string): Promise<void> {
        child.stdin.write(`${sql};\n\\echo done\n`);
        for await (const [piece] of on(child.stdout, "data")) if (String(piece).includes("done")) return;
      },
      async end(): Promise<void> {
        child.stdin.end();
        await once(child, "exit");
      },
    };
  }

  async startServer(): Promise<void> {
    const settings = {
      listen_addresses: "127.0.0.1",
      unix_socket_directories: this.folder,
      port: this.port,
      ...this.#options.settings,
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const program = asServer(join(this.#bin, "postgres"), ["-D", join(this.folder, "data"), ...flags]);
    const log = openSync(join(this.folder, "server.log"), "a");
    const server = spawn(...program, { stdio: ["ignore", log, log] });
    closeSync(log);
    this.#server = server;
    await serverUp({
      name: "PostgreSQL",
      child: server,
      answers: () => this.psql("SELECT 1", "postgres") === "1",
      log: () => this.log(),
    });
  }

  /** Stops the server; `immediate` stops it as if the machine lost power. */
  async stopServer(how: "fast" | "immediate" = "fast"): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null || server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, "exit");
    server.kill(how === "fast" ? "SIGINT" : "SIGQUIT");
    await gone;
  }

  async remove(): Promise<void> {
    await this.stopServer("immediate");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
