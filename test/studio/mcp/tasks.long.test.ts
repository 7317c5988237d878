import { CallToolResultSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { isFull } from "../../support/sample.ts";
import { type Agent, type AgentOptions, agreed, connect, envOf, waitingFace } from "./support/agent.ts";

let service: LocalService;
beforeEach(async () => {
  service = await startLocalService({ renderer: "stub", speed: 20, balance: 100 });
});
afterEach(() => service.close());

const agent = (transport: "stdio" | "http", flags: readonly string[], more: Partial<AgentOptions> = {}) =>
  connect(transport, { env: envOf(service), flags, ...more });
const decision = { run: "agent-face", step: "face/pick", decision: "approve", pick: 1 };
const poster = async ({ client }: Agent, name: string, input: Record<string, unknown>) => {
  return { name: "run_pipeline", arguments: await agreed(client, { pipeline: "poster", name, input }) };
};

describe.each(isFull ? (["stdio", "http"] as const) : (["http"] as const))("a run as a task, over %s", (transport) => {
  test("is made, looked at, listed and awaited by the official client, under the run's own id", async () => {
    await using one = await agent(transport, ["--budget", "1"]);
    const { tasks } = one.client.experimental;
    const seen: string[] = [];
    let result: unknown = null;
    await one.client.listTools();
    const kite = await poster(one, "kite", { subject: "a red kite" });
    const stream = tasks.callToolStream(kite, CallToolResultSchema, { task: { ttl: 60_000 } });
    for await (const message of stream) {
      if (message.type === "taskCreated") expect(message.task).toMatchObject({ taskId: "agent-kite", ttl: null });
      if (message.type === "taskStatus") seen.push(message.task.status);
      if (message.type === "error") throw message.error;
      if (message.type === "result") result = message.result;
    }
    expect(seen.at(-1)).toBe("completed");
    expect(result).toMatchObject({ isError: false, structuredContent: { id: "agent-kite", status: "succeeded" } });
    expect((await tasks.listTasks()).tasks).toMatchObject([{ taskId: "agent-kite", status: "completed" }]);
    expect(service.stats().jobs_created).toBe(1);
  });

  test("that waits for a decision needs input; one that is cancelled submits nothing more", async () => {
    await using one = await agent(transport, ["--budget", "1"]);
    const { tasks } = one.client.experimental;
    await waitingFace(one);
    expect(await tasks.getTask("agent-face")).toMatchObject({ status: "input_required" });
    expect(await tasks.cancelTask("agent-face")).toMatchObject({ status: "cancelled" });
  });

  test("of anybody else is none, and what fails to start is an error without one", async () => {
    await using one = await agent(transport, ["--budget", "1"]);
    const { tasks } = one.client.experimental;
    for (const id of ["mine", "agent-none", "../x"]) {
      await expect(tasks.getTask(id)).rejects.toThrow();
      await expect(tasks.cancelTask(id)).rejects.toThrow();
      await expect(tasks.getTaskResult(id)).rejects.toThrow();
    }
    const asTask = { task: { ttl: 1000 } } as const;
    const schema = CallToolResultSchema;
    const none = { ...(await poster(one, "a", {})), ...asTask };
    await expect(one.client.request({ method: "tools/call", params: none }, schema)).rejects.toThrow(/subject/);
    const params = { name: "list_runs", arguments: {}, ...asTask };
    await expect(one.client.request({ method: "tools/call", params }, schema)).rejects.toThrow(/cannot run as a task/);
    expect((await tasks.listTasks()).tasks).toEqual([]);
  });
});

describe("the person at the agent's side", () => {
  const accept = (content: Record<string, string | number | boolean>): ElicitResult => ({ action: "accept", content });

  test("decides with --ask, whatever the agent proposes", async () => {
    const asked: string[] = [];
    const person = (message: string) => {
      asked.push(message);
      return accept({ decision: "approve", pick: 2, note: "calmer" });
    };
    await using one = await agent("stdio", ["--budget", "1", "--ask"], { person });
    await waitingFace(one);
    const answer = await one.call("approve_step", decision);
    expect(answer.isError, answer.text).toBe(false);
    expect(asked).toEqual(["Run agent-face needs your decision on face/pick. The agent proposes: approve, number 1"]);
    expect((await one.call("wait_for_run", { run: "agent-face" })).json).toMatchObject({ status: "succeeded" });
    expect((await one.call("approve_step", decision)).text).toContain("is not waiting for a decision");
    expect(asked).toHaveLength(1);
  });

  test("is not asked without --ask, and a no is an error that changes nothing", async () => {
    const never = () => expect.unreachable("nobody may be asked");
    await using without = await agent("stdio", ["--budget", "1"], { person: never });
    await waitingFace(without);
    const refused = await without.call("approve_step", decision);
    expect(refused).toMatchObject({ isError: true });
    expect(refused.text).toContain("show a person what is waiting; they can decide in the terminal or the dashboard");
    await without.hangUp();
    const declining = { cwd: without.cwd, person: () => ({ action: "decline" }) as const };
    await using asking = await agent("stdio", ["--budget", "1", "--ask"], declining);
    expect((await asking.call("approve_step", decision)).text).toContain("was asked and declined");
    expect((await asking.call("run_status", { run: "agent-face" })).json).toMatchObject({ status: "paused" });
  });

  test("may allow a run more than each may cost, and never more than the budget", async () => {
    const asked: string[] = [];
    const person = (message: string) => {
      asked.push(message);
      return accept({ agree: asked.length > 1 });
    };
    await using one = await agent("stdio", ["--budget", "0.10", "--run-budget", "0.02", "--ask"], { person });
    const run = (name: string, copies: number) =>
      one.call("run_pipeline", { pipeline: "poster", name, input: { subject: "x", copies } });
    expect((await run("three", 3)).text).toContain("one run can cost at most $0.02");
    expect(asked).toEqual([
      "poster is expected to cost $0.06, above the limit of $0.02 per run. Run three for at most $0.06?",
    ]);
    const agreed = await run("three", 3);
    expect(agreed.json, agreed.text).toMatchObject({ id: "agent-three", budget: "0.06" });
    await one.call("wait_for_run", { run: "agent-three" });
    expect((await run("six", 6)).text).toContain("only $0.04 left");
    expect(asked).toHaveLength(2);
    expect(service.stats().charged_micros).toBe(60_000);
  });
});

test("every tool says what it answers, and the client checks it", async () => {
  await using one = await agent("stdio", ["--budget", "1"]);
  const { tools } = await one.client.listTools();
  for (const { name, outputSchema, description } of tools) {
    expect(outputSchema, name).toMatchObject({ type: "object" });
    expect(description, name).toMatch(/\.$/);
  }
  const asTasks = tools.filter(({ execution }) => execution?.taskSupport === "optional");
  expect(asTasks.map(({ name }) => name)).toEqual(["run_pipeline"]);
  const input = { subject: "a kite" };
  for (const [tool, given] of [
    ["list_pipelines", {}],
    ["describe_pipeline", { pipeline: "poster" }],
    ["plan_pipeline", { pipeline: "poster", input }],
    ["quote_pipeline", { pipeline: "poster", input }],
    ["run_pipeline", { pipeline: "poster", name: "a", input }],
    ["wait_for_run", { run: "agent-a" }],
    ["run_status", { run: "agent-a" }],
    ["show_media", { run: "agent-a" }],
    ["list_runs", {}],
    ["stop_run", { run: "agent-a" }],
    ["list_models", {}],
    ["show_model", { model: "image-1" }],
  ] as const) {
    const answer = await one.call(tool, given);
    expect(answer.isError, `${tool}: ${answer.text}`).toBe(false);
  }
});
