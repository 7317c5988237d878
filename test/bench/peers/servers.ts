/** Servers of the peers, each in a folder of its own and gone with it. Nothing is installed and no system service touched. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../support/free-port.ts";

export interface Server {
  readonly port: number;
  readonly version: string;
  stop(): Promise<void>;
}

/** Until `ready` no longer throws. */
export async function until(what: string, ready: () => Promise<unknown> | unknown): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      await ready();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`${what} did not start`, { cause: error });
      await sleep(50);
    }
  }
}

export function stopper(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): () => Promise<void> {
  process.once("exit", () => child.kill("SIGKILL"));
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  };
}

/** The newest PostgreSQL of Debian, else the one on the path; null: none. */
export function postgresBin(): string | null {
  const root = "/usr/lib/postgresql";
  const [newest] = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  if (newest !== undefined) return join(root, newest, "bin");
  try {
    return execFileSync("pg_config", ["--bindir"], { encoding: "utf8" }).trim();
  } catch {
    return null;
  }
}

/** A cluster with PostgreSQL's own defaults: fsync and synchronous_commit are on. */
export async function startPostgres(folder: string): Promise<Server> {
  const bin = postgresBin()!;
  const data = join(folder, "pg");
  mkdirSync(data, { recursive: true });
  // PostgreSQL refuses to be root.
  const isRoot = process.getuid?.() === 0;
  const as = (program: string, args: readonly string[]): [string, string[]] =>
    isRoot
      ? ["setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", program, ...args]]
      : [program, [...args]];
  if (isRoot) {
    chmodSync(folder, 0o755);
    execFileSync("chown", ["postgres", data]);
  }
  execFileSync(...as(join(bin, "initdb"), ["-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--no-locale"]), {
    stdio: "ignore",
  });
  const port = await freePort();
  const settings = ["-c", "listen_addresses=127.0.0.1", "-c", `unix_socket_directories=${data}`, "-c", `port=${port}`];
  const child = spawn(...as(join(bin, "postgres"), ["-D", data, ...settings]), { stdio: "ignore" });
  const psql = (sql: string) =>
    execFileSync(
      join(bin, "psql"),
      ["-h", "127.0.0.1", "-p", String(port), "-U", "bench", "-d", "postgres", "-tAc", sql],
      {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      },
    ).trim();
  await until("PostgreSQL", () => psql("select 1"));
  psql("create database bench");
  const version = `PostgreSQL ${psql("show server_version")}, fsync ${psql("show fsync")}, synchronous_commit ${psql("show synchronous_commit")}`;
  return { port, version, stop: stopper(child, "SIGINT") };
}

export function postgresUrl({ port }: Server): string {
  return `postgresql://bench@127.0.0.1:${port}/bench`;
}

/** Redis that syncs its append-only file at every write. */
export async function startRedis(folder: string): Promise<Server> {
  const port = await freePort();
  const settings = ["--bind", "127.0.0.1", "--port", String(port), "--dir", folder, "--save", ""];
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"];
  const child = spawn("redis-server", [...settings, ...durable], { stdio: "ignore" });
  const cli = (...args: string[]) =>
    execFileSync("redis-cli", ["-p", String(port), ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  await until("Redis", () => cli("ping"));
  const version = /redis_version:(\S+)/.exec(cli("info", "server"))?.[1];
  return { port, version: `Redis ${version}, appendonly yes, appendfsync always`, stop: stopper(child) };
}
