import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Pipeline } from "../../../src/index.ts";
import { during, type FakeShow, greyPng, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";
import { apiCallError, filmBy, MockProvider, pictureBy } from "../../support/mock-models.ts";

test("a picture of a provider goes into a job of the service and a film of the service's picture into a local task", async () => {
  const provider = new MockProvider();
  const seen: string[] = [];
  const show = pipelineOf("both", ({ generate, job, task }) => {
    const still = generate("still", provider.image(), { prompt: "a red boat", size: "64x64" }, { maxCost: "0.05" });
    const big = job("big", models.image, { prompt: "bigger", images: [still] });
    const edit = generate("edit", provider.image("editor"), { prompt: "blue", files: [big] }, { maxCost: "0.05" });
    const voice = generate("voice", provider.speech(), { text: "The boat leaves at nine." }, { maxCost: "0.01" });
    const look = task("look", { edit, voice }, ({ edit: picture, voice: sound }) => {
      seen.push(picture.contentType, sound.contentType);
      return { size: picture.sizeBytes };
    });
    return { still, edit, voice, look: look.value };
  });
  const world = await openFakeShow();
  const result = await world.run(show);
  expect(result).toMatchObject({ status: "succeeded" });
  if (result.status !== "succeeded") throw new Error(result.status);
  expect(seen).toEqual(["image/png", "audio/wav"]);
  expect([...world.paidService.uploads.values()]).toContain(Buffer.from(greyPng(64)).toString("hex"));
  const [first, ...others] = provider.requests;
  const asked = { prompt: "a red boat", n: 1, size: "64x64", aspectRatio: undefined, providerOptions: {} };
  expect(first).toMatchObject(asked);
  expect(first).not.toHaveProperty("headers");
  const edited = others.find((request) => "files" in request);
  expect(edited).toMatchObject({ files: [{ type: "file", mediaType: "image/png" }] });
  expect(others).toHaveLength(2);
  expect(await readFile((result.outputs as { still: { path: string } }).still.path)).toEqual(Buffer.from(greyPng(64)));
  const unconfirmed = result.report.steps.flatMap(({ attempts }) => attempts.filter((one) => one.unconfirmed === true));
  expect(unconfirmed.map(({ cost }) => cost)).toEqual(["0.05", "0.05", "0.01"]);
  expect(result.report.unconfirmed).toBe("0.11");
  expect(stepOf(result, "still")).toMatchObject({
    promise: "once",
    attempts: [{ cost: "0.05", unconfirmed: true, status: "completed" }],
    outputs: [{ status: "COMPLETED", asset_id: null, width: 64, file: "still.png" }],
  });
});

test("a film is started, then asked for until it is done; what a gateway says of the cost counts", async () => {
  const provider = new MockProvider("gateway");
  provider.pending = 3;
  const world = await openFakeShow();
  const result = await world.run(filmBy(provider));
  expect(result).toMatchObject({ status: "succeeded", report: { steps: [{ promise: "keyed" }] } });
  expect([provider.requests.length, provider.asked]).toEqual([1, 4]);
  expect(provider.requests[0]).toMatchObject({ headers: { "idempotency-key": expect.stringMatching(/^sr1_/) } });

  const painter = new MockProvider("gateway");
  painter.metadata = { gateway: { cost: "0.0213" } };
  const painted = await (await openFakeShow()).run(pictureBy(painter));
  const [attempt] = stepOf(painted, "still").attempts;
  expect(attempt).toMatchObject({ cost: "0.0213" });
  expect(attempt).not.toHaveProperty("unconfirmed");
});

describe("what an error proves", () => {
  const never = [
    ["a refusal", apiCallError(422, "the prompt is not allowed")],
    ["a key that is refused", apiCallError(401, "no access")],
    ["a missing key", Object.assign(new Error("set FAL_API_KEY"), { name: "AI_LoadAPIKeyError" })],
  ] as const;
  test.each(never)("after %s nothing is held, and the step fails", async (_, throws) => {
    const provider = new MockProvider("mock", [{ throws }]);
    const result = await (await openFakeShow()).run(pictureBy(provider));
    const reason = expect.stringContaining(throws.message);
    expect(result).toMatchObject({ status: "failed", report: { cost: "0.00", held: "0.00", steps: [{ reason }] } });
    expect(provider.requests).toHaveLength(1);
  });

  test("a provider that is busy or away for a moment is asked again, a few times", async () => {
    const cause = { code: "ECONNREFUSED" };
    const refused = Object.assign(apiCallError(undefined, "Cannot connect to API"), { cause });
    const busy = { throws: apiCallError(429, "slow down") };
    const provider = new MockProvider("mock", [busy, { throws: refused }, "made"]);
    expect((await (await openFakeShow()).run(pictureBy(provider))).status).toBe("succeeded");
    expect([provider.requests.length, provider.made]).toEqual([3, 1]);

    const away = new MockProvider("mock", [{ throws: refused }]);
    const result = await (await openFakeShow()).run(pictureBy(away));
    expect(result).toMatchObject({ status: "failed", report: { held: "0.00", cost: "0.00" } });
    expect(away.requests).toHaveLength(6);
  });

  const unknown = [
    ["a lost connection", Object.assign(new Error("socket hang up"), { code: "ECONNRESET" })],
    ["an error of the provider's own", apiCallError(500, "internal error")],
    ["a refusal of a later request, such as a download", apiCallError(404, "not found", {})],
    ["a key that is refused to a later request", apiCallError(401, "no access", {})],
    ["a key that is refused to nobody knows which request", Object.assign(new Error("no access"), { statusCode: 401 })],
    ["a poll that is refused, and has a body", apiCallError(429, "slow down", { operationName: "operations/1" })],
  ] as const;
  test.each(unknown)("after %s it is unresolved, its hold stays, and nothing is sent again [G1]", async (_, throws) => {
    const provider = new MockProvider("mock", [{ throws, made: true }]);
    const world = await openFakeShow();
    const result = await world.run(pictureBy(provider));
    expect(result).toMatchObject({ status: "paused", pause: { reason: "unresolved" }, report: { held: "0.05" } });
    const said = result.pause?.message;
    expect(said).toMatch(
      /^still: sent once to mock \(.*\); it is unknown whether anything was generated or charged: .*; up to \$0\.05 stays reserved\. Check your account at mock, then pass the file.*: showrunner adopt x still <file\|none>$/s,
    );
    const note = 'shows what to look for; then add the provider\'s file, or "none", to the command';
    const next = { command: "showrunner adopt x still", note };
    expect(result.report).toMatchObject({ missing: [{ what: "job", text: said }], next });
    expect((await world.resume({ pipeline: pictureBy(provider) })).status).toBe("paused");
    expect([provider.requests.length, provider.made]).toEqual([1, 1]);
  });

  test("where the author allows it, a lost answer counts as spent and the request is sent again", async () => {
    const throws = new Error("socket hang up");
    const provider = new MockProvider("mock", [{ throws, made: true }, "made"]);
    const result = await (await openFakeShow()).run(pictureBy(provider, { repeatable: true }));
    expect(result).toMatchObject({ status: "succeeded", report: { cost: "0.10", held: "0.00" } });
    expect(provider.made).toBe(2);
    const always = new MockProvider("mock", [{ throws }]);
    expect((await (await openFakeShow()).run(pictureBy(always, { repeatable: true }))).status).toBe("failed");
    expect(always.requests).toHaveLength(3);
  });

  test("under a documented key a start without an answer is sent again and made once [G1]", async () => {
    const provider = new MockProvider("gateway", [{ throws: new Error("socket hang up"), made: true }, "made"]);
    const result = await (await openFakeShow()).run(filmBy(provider));
    expect(result.status).toBe("succeeded");
    const keys = provider.requests.map(({ headers }) => (headers as Record<string, string>)["idempotency-key"]);
    expect([provider.requests.length, provider.made, new Set(keys).size]).toEqual([2, 1, 1]);
  });

  test("without one it is unresolved", async () => {
    const provider = new MockProvider("mock", [{ throws: new Error("socket hang up"), made: true }]);
    const result = await (await openFakeShow()).run(filmBy(provider));
    expect(result).toMatchObject({ status: "paused", report: { held: "0.50" } });
    expect(provider.requests[0]).toMatchObject({ headers: {} });
  });

  test("an operation that is called an error for a moment is asked again; for good it fails, and its hold counts", async () => {
    const provider = new MockProvider();
    const error = () => ({ status: "error", error: "Cannot connect to API", response: {} });
    provider.status = () => {
      if (provider.asked === 2) provider.status = null;
      return error();
    };
    expect((await (await openFakeShow()).run(filmBy(provider))).status).toBe("succeeded");

    const failing = new MockProvider();
    failing.status = error;
    const result = await (await openFakeShow()).run(filmBy(failing));
    expect(result).toMatchObject({ status: "failed", report: { cost: "0.50" } });
    expect(stepOf(result, "film").attempts).toMatchObject([{ unconfirmed: true, error: "Cannot connect to API" }]);
  });
});

test.each([
  ["is under way", () => ({ status: "pending", response: {} })],
  ["cannot be asked", () => Promise.reject(new Error("socket hang up"))],
])("errors of a moment with minutes between in which it %s are not taken for one that lasts", async (_, between) => {
  const provider = new MockProvider();
  const error = () => ({ status: "error", error: "Cannot connect to API", response: {} });
  let startedAt: number | null = null;
  const world = await openFakeShow();
  let isSaidAgain = false;
  provider.status = () => {
    startedAt ??= world.clock.now();
    if (provider.asked === 1) return error();
    if (world.clock.now() - startedAt < 20 * 60_000) return between();
    if (isSaidAgain) provider.status = null;
    isSaidAgain = true;
    return error();
  };
  expect([(await world.run(filmBy(provider))).status, provider.made]).toEqual(["succeeded", 1]);
});

test("a worker without the code sends nothing, and leaves the request to one that has it", async () => {
  const provider = new MockProvider();
  const world = await openFakeShow();
  await world.show.start(pictureBy(provider), {}, { id: "x", outDir: world.outDir });
  const slice = (of: Pipeline | null) =>
    during(world.clock, world.show.engine.slice("x", { findPipeline: async () => of, anew: true }));
  expect(await slice(null)).toMatchObject({ status: "left" });
  const other = pipelineOf("still", ({ generate }) => ({
    still: generate("still", provider.image("another"), { prompt: "a red boat" }, { maxCost: "0.05" }),
  }));
  const said = "still was planned with mock.image:painter, but the code now uses mock.image:another";
  expect(await slice(other)).toMatchObject({ status: "left", message: expect.stringContaining(said) });
  let ended = await slice(pictureBy(provider));
  while (ended.status === "running") ended = await slice(pictureBy(provider));
  expect(ended).toMatchObject({ status: "succeeded" });
  expect(provider.requests).toHaveLength(1);
});

test("a person gives the file that a provider made, or says that it made nothing", async () => {
  const throws = new Error("socket hang up");
  const provider = new MockProvider("mock", [{ throws, made: true }]);
  const world = await openFakeShow();
  await world.run(pictureBy(provider));
  const [asked, ...others] = await world.show.unresolved("x");
  expect(asked).toMatchObject({ step: "still", provider: "mock", candidates: [], sentFrom: asked!.sentTo });
  expect(others).toEqual([]);
  await expect(world.show.adopt("x", "still", "/nowhere.png")).rejects.toThrow("is not a file");
  const file = join(world.outDir, "given.png");
  await mkdir(world.outDir, { recursive: true });
  await writeFile(file, greyPng(32));
  await world.show.adopt("x", "still", file);
  await expect(world.show.unresolved("x")).resolves.toMatchObject([{ decided: { jobId: null, isFile: true } }]);
  // It stays until the run takes it in.
  for (const name of await readdir(world.mediaDir, { recursive: true })) await utimes(join(world.mediaDir, name), 1, 1);
  expect((await world.show.gc()).media.count).toBe(0);
  const resume = async (from: FakeShow) => from.resume({ pipeline: pictureBy(provider) });
  const result = await resume(world);
  expect(result).toMatchObject({ status: "succeeded", report: { cost: "0.05", held: "0.00" } });
  expect(result.report.steps[0]).toMatchObject({ outputs: [{ width: 32, file: "still.png" }] });

  const other = await openFakeShow();
  await other.run(pictureBy(provider));
  await other.show.adopt("x", "still", null);
  expect(await resume(other)).toMatchObject({ status: "failed", report: { cost: "0.00", held: "0.00" } });
  expect(provider.requests).toHaveLength(2);
});

test("a budget holds it like any other", async () => {
  const provider = new MockProvider();
  const world = await openFakeShow();
  await expect(world.run(pictureBy(provider), {}, { budget: "0.04" })).rejects.toThrow("The plan costs 0.05 USD");
  const options = { maxCost: "0.05", price: ({ n = 1 }) => `0.0${n}` };
  const two = pipelineOf("two", ({ generate }) => ({
    a: generate("a", provider.image(), { prompt: "a" }, options),
    b: generate("b", provider.image(), { prompt: "b", n: 3 }, options).outputs(),
  }));
  expect(await world.run(two, {}, { budget: "0.04" })).toMatchObject({ status: "succeeded", report: { cost: "0.04" } });
});

test("the key of an account that a provider quotes in its answer is not kept", async () => {
  const said = "Incorrect key sk-proj-abcdefghijklmnop0123 for https://api.example.com/v1?token=abc";
  const provider = new MockProvider("mock", [{ throws: apiCallError(401, said) }]);
  const world = await openFakeShow();
  const result = await world.run(pictureBy(provider));
  const journal = JSON.stringify(await world.journal.read("x"));
  expect(result.status).toBe("failed");
  expect(journal).not.toMatch(/sk-proj|token=abc/);
  expect(journal).toContain("Incorrect [redacted]");
});

test("what is no media is no result, although it was paid for", async () => {
  const provider = new MockProvider();
  const doGenerate = async () => ({ images: ["bm90IGFuIGltYWdl"], warnings: [], response: {} }) as never;
  const show = pipelineOf("no-media", ({ generate }) => ({
    still: generate("still", { ...provider.image(), doGenerate }, { prompt: "x" }, { maxCost: "0.05" }),
  }));
  const reason = expect.stringContaining("the output is not the expected image");
  const failed = { status: "failed", report: { cost: "0.05", steps: [{ reason }] } };
  expect(await (await openFakeShow()).run(show)).toMatchObject(failed);
});
