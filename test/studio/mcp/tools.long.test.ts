import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { words } from "../../support/word-list.ts";
import { type AgentOptions, connect, envOf, waitingFace } from "./support/agent.ts";

let service: LocalService;
let env: Record<string, string>;
beforeEach(async () => {
  service = await startLocalService({ renderer: "stub", balance: 100 });
  env = envOf(service);
});
afterEach(() => service.close());

const agent = (transport: "stdio" | "http", flags: readonly string[] = [], more: Partial<AgentOptions> = {}) =>
  connect(transport, { env, flags, ...more });

describe.each(["stdio", "http"] as const)("over %s", (transport) => {
  test("an agent finds a pipeline, prices it, runs it, waits, and sees what was made", async () => {
    await using one = await agent(transport, ["--budget", "1"]);
    const { tools } = await one.client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([
      ...words("approve_step describe_pipeline list_models list_pipelines list_runs plan_pipeline quote_pipeline"),
      ...["resume_run", "run_pipeline", "run_status", "show_media", "show_model", "stop_run", "wait_for_run"],
    ]);
    expect(tools.find(({ name }) => name === "run_pipeline")).toMatchObject({ annotations: { readOnlyHint: false } });
    expect((await one.call("list_pipelines")).json).toMatchObject({
      pipelines: [
        { name: "portrait", description: null, input: {} },
        {
          name: "poster",
          description: "Posters of one subject",
          input: {
            subject: { type: "string", required: true, description: "What is drawn" },
            copies: { type: "integer", required: false, description: null },
          },
        },
        { name: "voice", input: { sample: { required: true } } },
      ],
      ...{ budget: "1.00", left: "1.00", approvals: "a person decides" },
    });
    expect((await one.call("describe_pipeline", { pipeline: "poster" })).json).toMatchObject({
      description: "Posters of one subject",
      input_schema: { properties: { subject: { description: "What is drawn", minLength: 1 } } },
    });
    const input = { subject: "a red kite" };
    expect((await one.call("plan_pipeline", { pipeline: "poster", input })).json.steps).toMatchObject([
      { path: "poster-1", kind: "job", model: "image-1" },
    ]);
    expect((await one.call("quote_pipeline", { pipeline: "poster", input })).json).toMatchObject({
      total: { min: "0.02", max: "0.02" },
    });
    expect(service.stats().jobs_created).toBe(0);
    const started = await one.call("run_pipeline", { pipeline: "poster", name: "kite", input });
    expect(started.json, started.text).toMatchObject({ id: "agent-kite", budget: "0.02" });
    const ended = await one.call("wait_for_run", { run: "agent-kite" });
    expect(ended.json, ended.text).toMatchObject({
      ...{ status: "succeeded", cost: "0.02", waiting: [] },
      steps: [
        { path: "poster-1", status: "succeeded", outputs: [{ content_type: "image/png", file: "posters-1.png" }] },
      ],
    });
    const media = await one.call("show_media", { run: "agent-kite" });
    expect(media.content.map(({ type }) => type)).toEqual(["resource_link", "image", "text"]);
    const [link, image] = media.content as unknown as [
      { readonly uri: string },
      { readonly data: string; readonly mimeType: string },
    ];
    expect(image.mimeType).toBe("image/png");
    const { contents } = await one.client.readResource({ uri: link.uri });
    expect(contents).toEqual([{ uri: link.uri, mimeType: "image/png", blob: image.data }]);
    expect(Buffer.from(image.data, "base64").subarray(1, 4).toString()).toBe("PNG");
    expect((await one.client.listResources()).resources.map(({ name }) => name)).toEqual(["agent-kite"]);
    expect((await one.call("list_runs")).json).toMatchObject({ runs: [{ id: "agent-kite", status: "succeeded" }] });
    expect((await one.call("list_models", { search: "image-1" })).json).toMatchObject({
      models: [{ id: "image-1", modality: "image" }],
    });
    const model = { input_schema: { type: "object" } };
    expect((await one.call("show_model", { model: "image-1" })).json).toMatchObject(model);
    expect((await one.client.getPrompt({ name: "make", arguments: { wish: "a poster" } })).messages).toHaveLength(1);
    expect(existsSync(join(one.cwd, "out", "agent-kite", "posters-1.png"))).toBe(true);
  });

  test("errors are results that say what to do; wrong input names its field", async () => {
    await using one = await agent(transport, ["--budget", "1"]);
    const said = async (tool: string, input: Record<string, unknown>) => {
      const { isError, text } = await one.call(tool, input);
      expect(isError, `${tool} ${text}`).toBe(true);
      expect(JSON.parse(text)).toEqual({ error: expect.stringMatching(/./), next: expect.stringMatching(/./) });
      return text;
    };
    expect(await said("quote_pipeline", { pipeline: "postr" })).toContain("choose one of: portrait, poster, voice");
    expect(await said("quote_pipeline", { pipeline: "poster", input: { subject: "" } })).toContain("subject");
    expect(await said("run_pipeline", { pipeline: "poster", name: "../x", input: {} })).toContain("→ at name");
    expect(await said("run_status", { run: "agent-none" })).toContain("This run does not exist");
    expect(await said("show_model", { model: "none" })).toContain("`list_models`");
    expect(await said("no_such_tool", {})).toContain("use one of: list_pipelines");
    const read = (uri: string) => one.client.readResource({ uri });
    await expect(read("file:///etc/passwd")).rejects.toThrow(/is not a resource on this server/);
    await expect(read("showrunner://runs/mine")).rejects.toThrow(/was not started by an agent/);
  });
});

describe("the budget", () => {
  test("cannot be passed with a call, and nothing runs without one", async () => {
    await using free = await agent("stdio");
    const input = { subject: "a red kite" };
    const refused = await free.call("run_pipeline", { pipeline: "poster", name: "a", input });
    expect(refused).toMatchObject({ isError: true });
    expect(refused.text).toContain("ask the person who started this server to restart it with --budget USD");
    await using one = await agent("stdio", ["--budget", "0.10"]);
    const given = await one.call("run_pipeline", { pipeline: "poster", name: "a", input, budget: "100" });
    expect(given.text).toMatch(/The input is not valid:[\s\S]*budget/);
    expect(service.stats().jobs_created).toBe(0);
  });

  test("holds over all runs of the session, whichever connection starts them and however many at once [G28]", async () => {
    await using one = await agent("http", ["--budget", "0.10"]);
    const input = { subject: "a red kite", copies: 2 };
    const started = await Promise.all(
      Array.from({ length: 6 }, (_, n) => one.call("run_pipeline", { pipeline: "poster", name: `n${n}`, input })),
    );
    const ended = [];
    for (const { json } of started) if (json !== null) ended.push(await one.call("wait_for_run", { run: json.id }));
    // The others are refused at their start or paused, as money was left when they were asked for.
    expect(ended.filter(({ json }) => json.status === "succeeded").length).toBeLessThanOrEqual(2);
    expect(service.stats().charged_micros).toBeLessThanOrEqual(100_000);
    const { left } = (await one.call("list_pipelines")).json;
    expect(Number(left)).toBe((100_000 - service.stats().charged_micros) / 1e6);
    const more = await one.call("run_pipeline", { pipeline: "poster", name: "more", input });
    expect(more.text).toContain(`This run is expected to cost $0.04; this server's budget has only $${left} left`);
  });

  test("of one run is its quote, or what the person set for each; an agent cannot raise it by resuming [G28]", async () => {
    service.faults([{ kind: "charge", factor: 2 }]);
    await using one = await agent("stdio", ["--budget", "5", "--run-budget", "0.05"]);
    const many = { pipeline: "poster", name: "many", input: { subject: "x", copies: 3 } };
    const tooMuch = await one.call("run_pipeline", many);
    expect(tooMuch.text).toContain("one run can cost at most $0.05");
    expect(tooMuch.text).toContain("for a larger --run-budget");
    await one.call("run_pipeline", { pipeline: "poster", name: "two", input: { subject: "x", copies: 2 } });
    const paused = await one.call("wait_for_run", { run: "agent-two" });
    const jobs = service.stats().jobs_created;
    expect(paused.json.budget).toBe("0.04");
    const again = await one.call("resume_run", { run: "agent-two" });
    expect(again.isError, again.text).toBe(false);
    const after = (await one.call("wait_for_run", { run: "agent-two" })).json;
    expect(after.status).toBe(paused.json.status);
    expect(service.stats().jobs_created).toBe(jobs);
  });

  test("is not renewed by the name of a run: the same call never pays twice, another input is refused [G28]", async () => {
    await using one = await agent("stdio", ["--budget", "1"]);
    const run = (subject: string) => one.call("run_pipeline", { pipeline: "poster", name: "kite", input: { subject } });
    expect((await run("a red kite")).json.id).toBe("agent-kite");
    expect((await run("a red kite")).json.id).toBe("agent-kite");
    await one.call("wait_for_run", { run: "agent-kite" });
    expect((await run("a red kite")).json).toMatchObject({ status: "succeeded" });
    expect((await run("a blue kite")).text).toContain("choose another name for the run");
    expect(service.stats().jobs_created).toBe(1);
  });

  test("is new with each start of the server [G28]", async () => {
    const first = await agent("stdio", ["--budget", "0.05"]);
    await first.call("run_pipeline", { pipeline: "poster", name: "kite", input: { subject: "a red kite", copies: 2 } });
    await first.call("wait_for_run", { run: "agent-kite" });
    expect((await first.call("list_pipelines")).json.left).toBe("0.01");
    await first.hangUp();
    await using second = await agent("stdio", ["--budget", "0.03", "--allow-approve"], { cwd: first.cwd });
    expect((await second.call("list_pipelines")).json).toMatchObject({ budget: "0.03", left: "0.03" });
    const spent = service.stats().charged_micros;
    await second.call("run_pipeline", { pipeline: "poster", name: "one", input: { subject: "a kite" } });
    await second.call("wait_for_run", { run: "agent-one" });
    expect(service.stats().charged_micros - spent).toBeLessThanOrEqual(30_000);
    expect((await second.call("list_pipelines")).json.left).toBe("0.01");
  });
});

test("decisions are made with --allow-approve, and the run goes on", async () => {
  await using one = await agent("stdio", ["--budget", "1", "--allow-approve"]);
  const { json } = await waitingFace(one);
  expect(json).toMatchObject({ status: "paused", pause: { reason: "approval" }, waiting: [{ step: "face/pick" }] });
  const wrong = await one.call("approve_step", { run: "agent-face", step: "face/pick", decision: "approve", pick: 9 });
  expect(wrong.isError, wrong.text).toBe(true);
  await one.call("approve_step", {
    run: "agent-face",
    step: "face/pick",
    decision: "approve",
    pick: 2,
    note: "calmer",
  });
  expect((await one.call("wait_for_run", { run: "agent-face" })).json).toMatchObject({ status: "succeeded" });
});
