import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import type { Absence } from "./absence.ts";
import { freePort } from "./free-port.ts";

const run = promisify(execFile);
const PROGRAMS = ["radosgw", "ceph-mon", "ceph-osd", "ceph", "radosgw-admin", "monmaptool", "ceph-authtool"];

/** A real S3 server: a RADOS gateway for a cluster with one node in memory. */
export interface S3Server extends AsyncDisposable {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export function lacksS3Server(): Absence | null {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const isHere = PROGRAMS.every((name) => folders.some((folder) => existsSync(join(folder, name))));
  return isHere ? null : { what: "a RADOS gateway", cure: "apt-get install radosgw ceph-mon ceph-osd" };
}

/** Maximum duration of the start in milliseconds, for all steps together on a busy machine. */
export const S3_START_MS = 420_000;

/** Starts a server, which takes at least ten seconds. If a process ends or a port is taken, starts again. */
export async function startS3Server(deadline = Date.now() + S3_START_MS): Promise<S3Server> {
  const cluster = await Cluster.create();
  try {
    return await cluster.start(deadline);
  } catch (error) {
    const said = await cluster.lastLines();
    await cluster.stop();
    if (cluster.isBroken && Date.now() < deadline - S3_START_MS / 2) return startS3Server(deadline);
    throw new Error(`the S3 server did not come up\n${said}`, { cause: error });
  }
}

class Cluster {
  readonly #folder: string;
  readonly #config: string;
  readonly #ports: { readonly mon: number; readonly gateway: number };
  readonly #fsid = randomUUID();
  readonly #children = new Map<string, ChildProcess>();
  readonly #onExit = () => {
    for (const child of this.#children.values()) child.kill("SIGKILL");
  };

  private constructor(folder: string, ports: { readonly mon: number; readonly gateway: number }) {
    this.#folder = folder;
    this.#config = join(folder, "ceph.conf");
    this.#ports = ports;
    process.on("exit", this.#onExit);
  }

  static async create(): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), "s3-server-"));
    return new Cluster(folder, { mon: await freePort(), gateway: await freePort() });
  }

  /** True if a process of the cluster has ended by itself, so that waiting is useless. */
  get isBroken(): boolean {
    return [...this.#children.values()].some((child) => child.exitCode !== null || child.signalCode !== null);
  }

  async start(deadline: number): Promise<S3Server> {
    for (const name of ["mon", "osd", "run"]) await mkdir(join(this.#folder, name));
    const { mon: monPort, gateway: port } = this.#ports;
    await writeFile(this.#config, configOf({ folder: this.#folder, fsid: this.#fsid, monPort, port }));
    await this.#startMonitor();
    const ceph = (...args: readonly string[]) => this.#until(deadline, "ceph", ["-c", this.#config, ...args]);
    // By its id, so that a second try finds what the first made.
    const disk = randomUUID();
    await ceph("osd", "create", disk);
    await ceph("osd", "crush", "add", "osd.0", "1", "root=default", "host=localhost");
    await this.#call("ceph-osd", "-c", this.#config, "-i", "0", "--osd-uuid", disk, "--mkfs", "--mkkey");
    this.#serve("ceph-osd", "-i", "0");
    // What is asked of a cluster whose disk is not up waits without an end.
    while (!/\bup\s+in\b/.test(await ceph("osd", "dump"))) await this.#pause(deadline);
    const keys = { accessKeyId: "AKIDSHOWRUNNERTEST", secretAccessKey: randomUUID() };
    await this.#createUser(deadline, keys);
    this.#serve("radosgw", "-n", "client.rgw");
    const endpoint = `http://127.0.0.1:${port}`;
    while (!(await answers(endpoint))) await this.#pause(deadline);
    return { endpoint, ...keys, [Symbol.asyncDispose]: () => this.stop() };
  }

  async #startMonitor(): Promise<void> {
    const [keyring, monmap] = [join(this.#folder, "keyring"), join(this.#folder, "monmap")];
    const address = `[v1:127.0.0.1:${this.#ports.mon}]`;
    const isMonitor = ["-n", "mon.", "--cap", "mon", "allow *"];
    await this.#call("ceph-authtool", "--create-keyring", keyring, "--gen-key", ...isMonitor);
    await this.#call("monmaptool", "--create", "--addv", "a", address, "--fsid", this.#fsid, monmap);
    await this.#call("ceph-mon", "-c", this.#config, "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", keyring);
    this.#serve("ceph-mon", "-i", "a");
  }

  /** Creates a user. An existing user comes from an earlier attempt whose response was lost. */
  async #createUser(deadline: number, keys: Pick<S3Server, "accessKeyId" | "secretAccessKey">): Promise<void> {
    const { accessKeyId, secretAccessKey } = keys;
    const admin = ["-c", this.#config, "-n", "client.rgw", "user"];
    const given = [`--access-key=${accessKeyId}`, `--secret-key=${secretAccessKey}`];
    const make = [...admin, "create", "--uid=test", "--display-name=test", ...given];
    await this.#until(deadline, "radosgw-admin", make, () =>
      this.#call("radosgw-admin", ...admin, "info", "--uid=test"),
    );
  }

  #serve(program: string, ...args: readonly string[]): void {
    const child = spawn(program, ["-f", "-c", this.#config, ...args], { cwd: this.#folder, stdio: "ignore" });
    this.#children.set(program, child);
  }

  async #call(program: string, ...args: readonly string[]): Promise<string> {
    const { stdout } = await run(program, args, { cwd: this.#folder, timeout: 120_000, killSignal: "SIGKILL" });
    return stdout;
  }

  /** Repeats a command until it, or `elsewhere`, succeeds: on a busy machine a cluster responds late. */
  async #until(
    deadline: number,
    program: string,
    args: readonly string[],
    elsewhere?: () => Promise<string>,
  ): Promise<string> {
    for (;;) {
      try {
        return await this.#call(program, ...args);
      } catch (error) {
        const found = await elsewhere?.().catch(() => null);
        if (found != null) return found;
        await this.#pause(deadline, error);
      }
    }
  }

  async #pause(deadline: number, cause?: unknown): Promise<void> {
    if (this.isBroken) throw new Error("one of its processes has ended", { cause });
    if (Date.now() > deadline) throw new Error("it takes too long", { cause });
    await setTimeout(200);
  }

  /** The last log lines of the processes, and which processes have ended. */
  async lastLines(): Promise<string> {
    const ended = [...this.#children].flatMap(([program, { exitCode, signalCode }]) =>
      exitCode === null && signalCode === null ? [] : [`${program} ended: ${signalCode ?? exitCode}`],
    );
    const logs = (await readdir(this.#folder)).filter((name) => name.endsWith(".log"));
    const lines = logs.map(async (name) => {
      const text = await readFile(join(this.#folder, name), "utf8");
      return `${name}:\n${text.trimEnd().split("\n").slice(-15).join("\n")}`;
    });
    return [...ended, ...(await Promise.all(lines))].join("\n");
  }

  async stop(): Promise<void> {
    process.off("exit", this.#onExit);
    for (const child of [...this.#children.values()].toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function answers(endpoint: string): Promise<boolean> {
  try {
    return (await fetch(endpoint, { signal: AbortSignal.timeout(10_000) })).ok;
  } catch {
    return false;
  }
}

function configOf({
  folder,
  fsid,
  monPort,
  port,
}: {
  readonly folder: string;
  readonly fsid: string;
  readonly monPort: number;
  readonly port: number;
}): string {
  return `[global]
fsid = ${fsid}
mon initial members = a
mon host = v1:127.0.0.1:${monPort}
ms bind msgr2 = false
auth cluster required = none
auth service required = none
auth client required = none
auth allow insecure global id reclaim = true
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail crit = 1
mon data avail warn = 1
osd crush chooseleaf type = 0
run dir = ${folder}/run
admin socket = ${folder}/run/$name.asok
pid file = ${folder}/run/$name.pid
crash dir = ${folder}/run
log file = ${folder}/$name.log
mon data = ${folder}/mon
osd data = ${folder}/osd
osd objectstore = memstore
memstore device bytes = 2147483648
keyring = ${folder}/keyring
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:${port}
rgw gc obj min wait = 1
`;
}
