import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test, vi } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { ENVIRONMENT } from "../../scripts/settings.ts";
import { startLocalService } from "../../src/local-service/index.ts";
import { describeNeeding } from "../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../support/postgres.ts";

vi.setConfig({ testTimeout: 240_000 });

const root = join(import.meta.dirname, "..", "..");
const recipe = join(root, "recipes", "distributed");
const textOf = (name: string) => readFileSync(join(recipe, name), "utf8");
const reference = readFileSync(join(root, "docs", "cli.md"), "utf8");

interface Service {
  readonly command?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly stop_grace_period?: string;
  readonly deploy?: { readonly replicas: number };
  readonly healthcheck?: { readonly test: readonly string[] };
}
const compose = parse(textOf("compose.yaml"), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
};
const [config, deployment] = parseAllDocuments(textOf("kubernetes.yaml")).map((document) => document.toJS());
const pod = deployment.spec.template.spec;
const [container] = pod.containers;
const unit = textOf("systemd/showrunner-worker@.service");
const readme = textOf("README.md");

/** Commands of `showrunner` as somebody types them. */
const commands = [
  ...Object.values(compose.services).flatMap(({ command }) => (command === undefined ? [] : [command])),
  container.args.join(" ") as string,
  ...[...unit.matchAll(/showrunner (worker .*)/g)].map(([, command]) => command!),
  ...[...readme.matchAll(/npx showrunner (.*)/g)].map(([, command]) => command!.split(" #")[0]!),
];

describe("The recipe of several machines", () => {
  test.each([...new Set(commands)])("%s is a command that there is, with flags that it has", (command) => {
    const [name] = command.split(" ");
    const section = reference.split(/^## /m).find((one) => one.startsWith(`${name}\n`));
    expect(section, name).toBeDefined();
    for (const [flag] of command.matchAll(/(?<= )--[a-z-]+/g)) expect(section).toContain(`\`${flag}`);
  });

  test("sets variables that Showrunner reads, and has secrets from outside only", () => {
    const texts = ["compose.yaml", "kubernetes.yaml", "systemd/worker.env", "README.md"].map(textOf);
    const names = new Set(texts.flatMap((text) => text.match(/SHOWRUNNER_[A-Z_]+/g) ?? []));
    expect([...names].filter((name) => ENVIRONMENT[name] === undefined)).toEqual([]);
    expect(compose.services.worker!.environment!.SHOWRUNNER_API_KEY).toMatch(/^\$\{API_KEY:\?/);
    expect(Object.keys(config.data)).not.toContain("SHOWRUNNER_API_KEY");
    const secrets = container.env.map((one: { readonly name: string; readonly valueFrom: object }) => [
      one.name,
      Object.keys(one.valueFrom),
    ]);
    expect(secrets).toEqual([
      ["SHOWRUNNER_API_KEY", ["secretKeyRef"]],
      ["SHOWRUNNER_JOURNAL", ["secretKeyRef"]],
    ]);
    expect(textOf("systemd/worker.env")).toMatch(/^SHOWRUNNER_API_KEY=$/m);
  });

  test("has four workers, is asked where it answers, and gives a worker longer to stop than it takes", () => {
    expect([compose.services.worker!.deploy!.replicas, deployment.spec.replicas]).toEqual([4, 4]);
    const flagOf = (command: string, flag: string) => new RegExp(`${flag} (\\S+)`).exec(command)![1]!;
    const inPod = container.args.join(" ");
    const { containerPort, name } = container.ports[0];
    expect(String(containerPort)).toBe(flagOf(inPod, "--health-port"));
    expect([container.readinessProbe.httpGet, container.livenessProbe.httpGet]).toEqual([
      { path: "/readyz", port: name },
      { path: "/healthz", port: name },
    ]);
    expect(flagOf(inPod, "--host")).toBe("0.0.0.0");
    const { worker } = compose.services;
    const port = flagOf(worker!.command!, "--health-port");
    expect(worker!.healthcheck!.test.join(" ")).toContain(`http://127.0.0.1:${port}/readyz`);
    const seconds = (text: string) => Number.parseInt(text, 10);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(seconds(flagOf(inPod, "--drain")));
    expect(seconds(worker!.stop_grace_period!)).toBeGreaterThan(seconds(flagOf(worker!.command!, "--drain")));
    expect(Number(/TimeoutStopSec=(\d+)/.exec(unit)![1])).toBeGreaterThan(seconds(flagOf(unit, "--drain")));
    expect(unit).toMatch(/^SuccessExitStatus=130$/m);
  });
});

describeNeeding(lacksPostgres())("The README's commands", () => {
  const folder = mkdtempSync(join(tmpdir(), "recipe-distributed-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("run the same file in one process, and with four workers", async () => {
    const cluster = await PostgresCluster.start({ settings: { fsync: "off" } });
    const service = await startLocalService({ renderer: "stub", balance: 10, dataDir: join(folder, "service") });
    const project = join(folder, "project");
    mkdirSync(project);
    cpSync(join(root, "recipes"), join(project, "recipes"), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(project, "node_modules"));
    const { SHOWRUNNER_JOURNAL: _, ...env } = process.env;
    Object.assign(env, { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey });
    const argsOf = (line: string) => [join(root, "bin", "showrunner.js"), ...line.split(" ").slice(2)];
    const run = promisify(execFile);
    const type = (line: string) => run(process.execPath, argsOf(line), { cwd: project, env });
    const workers: ReturnType<typeof spawn>[] = [];
    try {
      const [alone, setUp, workerLines, fromAnywhere] = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) =>
        block!.trim().split("\n"),
      );
      await type(alone![0]!);
      expect(service.stats().jobs_created).toBe(2);
      const exported = Object.fromEntries(
        setUp!.filter((line) => line.startsWith("export ")).map((line) => line.slice(7).split("=")),
      );
      expect(Object.keys(exported)).toEqual(["SHOWRUNNER_JOURNAL", "SHOWRUNNER_MEDIA"]);
      Object.assign(env, {
        SHOWRUNNER_JOURNAL: await cluster.createDatabase(),
        SHOWRUNNER_MEDIA: join(folder, "films"),
      });
      await type(setUp!.at(-1)!);
      expect(workerLines).toHaveLength(4);
      for (const line of workerLines!) {
        // Another port where it is taken: others test here too.
        const args = argsOf(line.replace(/ --health-port \d+/, ""));
        workers.push(spawn(process.execPath, args, { cwd: project, env, stdio: "ignore" }));
      }
      await type(fromAnywhere![0]!);
      await type(fromAnywhere![1]!);
      const { stdout } = await type(`${fromAnywhere![2]!} --json`);
      expect(JSON.parse(stdout)).toMatchObject({ id: "harbour", status: "succeeded" });
      expect(service.stats().jobs_created).toBe(4);
      const exits = workers.map((worker) => once(worker, "exit"));
      for (const worker of workers) worker.kill("SIGTERM");
      expect(await Promise.all(exits)).toEqual(Array(4).fill([130, null]));
    } finally {
      for (const worker of workers) worker.kill("SIGKILL");
      await service.close();
      await cluster.remove();
    }
  });
});
