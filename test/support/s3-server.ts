import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import type { Absence } from "./absence.ts";
import { freePort } from "./free-port.ts";

const run = promisify(execFile);
const PROGRAMS = ["radosgw", "ceph-mon", "ceph-osd", "ceph", "radosgw-admin", "monmaptool", "ceph-authtool"];

/** A real S3 server: a RADOS gateway with a cluster of one in memory behind it. */
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

/** Starts one; takes ten seconds and more. A cluster that does not come up on a busy machine gets another try. */
export async function startS3Server(tries = 3): Promise<S3Server> {
  return start().catch((error: unknown) => {
    if (tries === 1) throw error;
    return startS3Server(tries - 1);
  });
}

async function start(): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), "s3-server-"));
  const children: ChildProcess[] = [];
  const stop = async () => {
    for (const child of children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await rm(folder, { recursive: true, force: true });
  };
  const onExit = () => {
    for (const child of children) child.kill("SIGKILL");
  };
  process.on("exit", onExit);
  try {
    const [monPort, port] = [await freePort(), await freePort()];
    const fsid = randomUUID();
    const config = join(folder, "ceph.conf");
    for (const name of ["mon", "osd", "run"]) await mkdir(join(folder, name));
    await writeFile(config, configOf({ folder, fsid, monPort, port }));
    const keyring = join(folder, "keyring");
    const call = (program: string, ...args: readonly string[]) => run(program, args, { cwd: folder, timeout: 60_000 });
    const serve = (program: string, ...args: readonly string[]) => {
      children.push(spawn(program, ["-f", "-c", config, ...args], { cwd: folder, stdio: "ignore" }));
    };
    await call("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *");
    const monmap = join(folder, "monmap");
    await call("monmaptool", "--create", "--addv", "a", `[v1:127.0.0.1:${monPort}]`, "--fsid", fsid, monmap);
    await call("ceph-mon", "-c", config, "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", keyring);
    serve("ceph-mon", "-i", "a");
    await call("ceph", "-c", config, "osd", "create");
    await call("ceph", "-c", config, "osd", "crush", "add", "osd.0", "1", "root=default", "host=localhost");
    await call("ceph-osd", "-c", config, "-i", "0", "--mkfs", "--mkkey");
    serve("ceph-osd", "-i", "0");
    const keys = { accessKeyId: "AKIDSHOWRUNNERTEST", secretAccessKey: randomUUID() };
    await call(
      "radosgw-admin",
      "-c",
      config,
      "-n",
      "client.rgw",
      "user",
      "create",
      "--uid=test",
      "--display-name=test",
      `--access-key=${keys.accessKeyId}`,
      `--secret-key=${keys.secretAccessKey}`,
    );
    serve("radosgw", "-n", "client.rgw");
    const endpoint = `http://127.0.0.1:${port}`;
    while (
      !(await fetch(endpoint).then(
        (answer) => answer.ok,
        () => false,
      ))
    )
      await setTimeout(100);
    return {
      endpoint,
      ...keys,
      async [Symbol.asyncDispose]() {
        process.off("exit", onExit);
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
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
