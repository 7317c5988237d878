import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Absence } from "./absence.ts";
import { freePort } from "./free-port.ts";
import { asServer, type PostgresCluster } from "./postgres.ts";
import { serverUp, withSecondTry } from "./server-up.ts";

const program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"].find(existsSync);

export const lacksPgbouncer = (): Absence | null =>
  program === undefined ? { what: "pgbouncer", cure: "apt-get install pgbouncer" } : null;

/** Starts PgBouncer in transaction mode, with fewer connections to the cluster than it accepts from clients. */
export function startPgbouncer(cluster: PostgresCluster, connections: number) {
  return withSecondTry(() => start(cluster, connections));
}

async function start(cluster: PostgresCluster, connections: number) {
  const port = await freePort();
  const settings = join(cluster.folder, "pgbouncer.ini");
  const users = join(cluster.folder, "users.txt");
  writeFileSync(users, '"tester" ""\n');
  writeFileSync(
    settings,
    `[databases]
* = host=127.0.0.1 port=${cluster.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${connections}
max_client_conn = 200
`,
  );
  if (process.getuid?.() === 0) execFileSync("chown", ["postgres", settings, users]);
  const server = spawn(...asServer(program!, ["-q", settings]), { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  server.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  await serverUp({ name: "pgbouncer", child: server, answers: () => answers(port), log: () => said });
  return {
    port,
    async stop() {
      const gone = once(server, "exit");
      server.kill("SIGKILL");
      await gone;
    },
  };
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
