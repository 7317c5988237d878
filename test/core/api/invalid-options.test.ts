import { describe, expect, test } from "vitest";
import { type Client, createClient, OptionError } from "../../../src/core/api/index.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { json } from "../../support/fake-service.ts";

const setUp = clientSetup();

const [asked, submitted] = [
  { model: "m", messages: [] },
  { model: "m", input: {}, idempotencyKey: "k1" },
];
const all = async (items: AsyncIterable<unknown>) => {
  for await (const item of items) expect(item).toBe(undefined);
};

describe("options of a client", () => {
  const base = { baseUrl: "https://x.example/v3", apiKey: "k:s" };

  test.each<readonly [string, readonly unknown[], (value: never) => object]>([
    ["timeoutMs", [0, -1, Number.NaN, "5", null], (timeoutMs) => ({ timeoutMs })],
    ["credentialForm", ["basic", "Bearer", 1], (credentialForm) => ({ credentialForm })],
    ["retry.maxAttempts", [0, -1, Number.NaN, "5"], (maxAttempts) => ({ retry: { maxAttempts } })],
    ["retry.baseDelayMs", [-1, Number.NaN, "5"], (baseDelayMs) => ({ retry: { baseDelayMs } })],
    ["retry.maxDelayMs", [-1, Number.NaN], (maxDelayMs) => ({ retry: { maxDelayMs } })],
    ["retry.maxElapsedMs", [-1, Number.NaN], (maxElapsedMs) => ({ retry: { maxElapsedMs } })],
    ["pace.maxInFlight", [0, Number.NaN, "5"], (maxInFlight) => ({ pace: { maxInFlight } })],
    ["pace.maxPerSecond", [0, -1, Number.NaN], (maxPerSecond) => ({ pace: { maxPerSecond } })],
    ["pace.limit", [5, "60/min", null], (limit) => ({ pace: { limit } })],
    [
      "pace.limit.requests",
      [0, Number.NaN, undefined],
      (requests) => ({ pace: { limit: { requests, perMs: 1_000 } } }),
    ],
    ["pace.limit.perMs", [0, Number.NaN, undefined], (perMs) => ({ pace: { limit: { requests: 1, perMs } } })],
    ["pace.buckets.upload.limit", [5], (limit) => ({ pace: { buckets: { upload: { limit } } } })],
    ["downloadLimits.video", [-1, Number.NaN, "1 GB"], (video) => ({ downloadLimits: { video } })],
  ])("`%s` is refused by its name", (name, values, optionsWith) => {
    for (const value of values) {
      const create = () => createClient({ ...base, ...optionsWith(value as never) });
      expect(create).toThrow(OptionError);
      expect(create).toThrow(new RegExp(`^${name} must be`));
    }
  });

  test("no time limit, no retries and no limits of its own are allowed", () => {
    const pace = { limit: undefined, buckets: { upload: {} }, maxInFlight: Number.POSITIVE_INFINITY };
    const retry = { maxAttempts: 1, baseDelayMs: 0, maxElapsedMs: 0 };
    createClient({ ...base, timeoutMs: Number.POSITIVE_INFINITY, retry, pace, downloadLimits: { other: 0 } });
  });
});

describe("options of a call are refused before anything is sent, and only once", () => {
  const limited: Readonly<Record<string, (client: Client, timeoutMs: number) => Promise<unknown>>> = {
    balance: (client, timeoutMs) => client.balance({ timeoutMs }),
    submit: (client, timeoutMs) => client.submit(submitted, { timeoutMs }),
    "submit again": (client, timeoutMs) => client.submit(submitted, { timeoutMs, mayExist: true }),
    chat: (client, timeoutMs) => client.chat(asked, { timeoutMs }),
    chatStream: (client, timeoutMs) => all(client.chatStream(asked, { timeoutMs })),
    request: (client, timeoutMs) => client.request({ method: "GET", path: "/balance" }, { timeoutMs }),
    stream: (client, idleMs) => all(client.stream("job_1", { idleMs })),
    download: (client, idleMs) => client.download("http://127.0.0.1:9/a", "/nowhere/a", { idleMs }),
    "whole download": (client, maxMs) => client.download("http://127.0.0.1:9/a", "/nowhere/a", { maxMs }),
    follow: (client, deadlineMs) => all(client.follow("job_1", { deadlineMs })),
  };
  test.each(Object.keys(limited))("a time limit of %s", async (name) => {
    const { client, service } = await setUp([json(200, {})]);
    for (const value of [0, -1, Number.NaN]) {
      const error = await limited[name]!(client, value).catch((cause: unknown) => cause);
      expect(error).toBeInstanceOf(OptionError);
      expect(String(error)).toMatch(/(timeoutMs|idleMs|maxMs|deadlineMs) must be/);
    }
    expect([service.seen, client.pace().sent]).toEqual([[], 0]);
  });

  const circular: { self?: unknown } = {};
  circular.self = circular;
  const sending: Readonly<Record<string, (client: Client, value: never) => Promise<unknown>>> = {
    submit: (client, input) => client.submit({ ...submitted, input: { input } as never }),
    "submit again": (client, input) => client.submit({ ...submitted, input: { input } as never }, { mayExist: true }),
    estimate: (client, input) => client.estimate({ model: "m", input: { input } as never }),
    chat: (client, value) => client.chat({ ...asked, value } as never),
    chatStream: (client, value) => all(client.chatStream({ ...asked, value } as never)),
    request: (client, value) => client.request({ method: "PUT", path: "/drains/x", json: value }),
  };
  test.each(Object.keys(sending))("input of %s that is not JSON", async (name) => {
    const { client, service } = await setUp([json(200, {})]);
    for (const value of [1n, circular]) {
      const error = await sending[name]!(client, value as never).catch((cause: unknown) => cause);
      expect(error).toBeInstanceOf(OptionError);
      expect((error as Error).message).toMatch(/^input is not JSON: .+\.$/);
    }
    expect([service.seen, client.pace().sent]).toEqual([[], 0]);
  });
});
