import { spawn } from "node:child_process";
import { join } from "node:path";
import * as restate from "@restatedev/restate-sdk";
import { freePort } from "../../support/free-port.ts";
import type { Case } from "../engine.ts";
import { layeredGraph } from "../graph.ts";
import { type Peer, step } from "./peer.ts";
import { stopper, until } from "./servers.ts";
import { versionOf } from "./version.ts";

/** As `runLayers` does, with the waits that Restate writes down: it lets one place of a handler wait at a time. */
async function run(context: restate.Context, { steps, width, cap }: Case): Promise<number> {
  const graph = layeredGraph(steps, width);
  const values: number[] = [];
  for (let first = 0; first < steps; first += width) {
    const underWay = new Map<number, restate.RestatePromise<readonly [number, number]>>();
    for (let index = first; index < Math.min(first + width, steps); index += 1) {
      if (underWay.size === cap) {
        const [done, value] = await restate.RestatePromise.race([...underWay.values()]);
        values[done] = value;
        underWay.delete(done);
      }
      const from = graph[index]!.map((parent) => values[parent]!);
      const result = context.run(`step-${index}`, () => step(from));
      underWay.set(
        index,
        result.map((value) => [index, value!] as const),
      );
    }
    for (const [done, value] of await restate.RestatePromise.all([...underWay.values()])) values[done] = value;
  }
  return values.at(-1)!;
}

const layered = restate.service({ name: "layered", handlers: { run } });

export async function open(folder: string): Promise<Peer> {
  const [server, ingress, admin] = await Promise.all([freePort(), freePort(), freePort()]);
  const at = (port: number) => `http://127.0.0.1:${port}`;
  const platform = `${process.platform}-${process.arch}`;
  const program = join(
    import.meta.dirname,
    "node_modules/@restatedev",
    `restate-server-${platform}`,
    "bin/restate-server",
  );
  const child = spawn(program, ["--base-dir", folder], {
    stdio: "ignore",
    env: {
      ...process.env,
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_ADDRESS: `127.0.0.1:${server}`,
      RESTATE_ADVERTISED_ADDRESS: `${at(server)}/`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_LOG_FILTER: "error",
    },
  });
  const endpoint = await restate.serve({ services: [layered], port: 0, logger: () => {} });
  const post = async (url: string, body: unknown) => {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  await until("Restate", () => post(`${at(admin)}/deployments`, { uri: at(endpoint), force: true }));
  return {
    settings: `Restate ${versionOf("@restatedev/restate-server")}, SDK ${versionOf("@restatedev/restate-sdk")}, one node with its defaults (its log is synced)`,
    run: async (of) => (await post(`${at(ingress)}/layered/run`, of)) as number,
    close: stopper(child),
  };
}
