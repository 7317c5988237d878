import type { lookup } from "node:dns";
import { createServer } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { ApiError, createClient } from "../../../src/core/api/index.ts";
import { parseBucketUrl } from "../../../src/core/engine/media/bucket/bucket.ts";
import { connectS3 } from "../../../src/core/engine/media/bucket/s3-bucket.ts";
import {
  createAddressGuard,
  ForbiddenAddressError,
  fetchForInput,
  fetchForOperator,
  judgeBeforeProxy,
  withRoutes,
} from "../../../src/core/network/index.ts";
import { createOutbound } from "../../../src/local-service/outbound/outbound.ts";
import { type ForwardProxy, forwardProxy } from "../../support/forward-proxy.ts";
import { type Listening, listen } from "../../support/listen.ts";

let proxy: ForwardProxy;
let site: Listening;
let named: string;
beforeAll(async () => {
  proxy = await forwardProxy({ login: "clerk:word" });
  site = await listen(
    createServer((request, answer) => {
      const location = decodeURIComponent(/\?to=(.*)/.exec(request.url ?? "")?.[1] ?? "");
      answer.writeHead(location === "" ? 200 : 302, { location }).end("hello");
    }),
  );
  named = `http://site.test:${site.port}`;
  Object.assign(process.env, { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url });
});
afterEach(() => {
  proxy.refusal = null;
  (proxy.asked as string[]).length = 0;
});
afterAll(async () => {
  delete process.env.HTTP_PROXY;
  delete process.env.HTTPS_PROXY;
  await Promise.all([proxy.close(), site.close()]);
});

const signal = AbortSignal.timeout(50_000);
const read = (url: string, inside: readonly string[] = []) => fetchForInput(url, { inside, signal });

describe("what an input names, behind a proxy", () => {
  test("is fetched through it, by a name that only the proxy knows", async () => {
    const { status } = await read(`${named}/a`);
    expect([status, proxy.asked]).toEqual([200, [`GET ${named}/a`]]);
  });

  test.each(["10.1.2.3", "169.254.169.254", "[fd00::1]", "127.0.0.1", "localhost", "[::1]", "2130706433"])(
    "is not fetched from %s, also where a redirect leads there",
    async (host) => {
      const url = `http://${host}:${site.port}/`;
      await expect(read(url)).rejects.toThrow(ForbiddenAddressError);
      await expect(read(`${named}/?to=${encodeURIComponent(url)}`)).rejects.toThrow(ForbiddenAddressError);
      expect(proxy.asked).toHaveLength(1);
    },
  );

  test("is fetched from this machine without the proxy, where the operator named it", async () => {
    expect((await read(site.origin, [site.origin])).status).toBe(200);
    expect(proxy.asked).toEqual([]);
  });
});

describe("a name that this machine resolves too", () => {
  const judged = (
    resolve: (done: (error: Error | null, found?: readonly object[]) => void) => void,
    host = "a.test",
  ) => {
    const lookUp = ((_host: string, _options: object, done: never) => resolve(done)) as unknown as typeof lookup;
    return judgeBeforeProxy(
      new URL(`http://${host}/`),
      createAddressGuard({ origin: "https://api.test" }, lookUp).lookupNamed,
    );
  };

  test("is refused where it leads inside, before the proxy is asked", async () => {
    const inside = judged((done) => done(null, [{ address: "10.0.0.5", family: 4 }]));
    await expect(inside).rejects.toThrow(/a\.test \(10\.0\.0\.5\) is not a public address/);
  });

  test("is left to the proxy where it leads to the internet, to nothing, or to no answer", async () => {
    await judged((done) => done(null, [{ address: "8.8.8.8", family: 4 }]));
    await judged((done) => done(new Error("ENOTFOUND")));
    vi.useFakeTimers();
    const silent = judged(() => {});
    await vi.runAllTimersAsync();
    vi.useRealTimers();
    await silent;
  });
});

describe("Node's own fetch", () => {
  test("goes through the proxy for a provider's package and for the operator, and stays as it was for the program", async () => {
    const text = await withRoutes(async () => (await fetch(`${named}/paint`)).text());
    const told = await fetchForOperator(`${named}/hook`, { method: "POST", body: "x" });
    expect([text, told.status]).toEqual(["hello", 200]);
    expect(proxy.asked).toEqual([`GET ${named}/paint`, `POST ${named}/hook`]);
    await expect(fetch(`${named}/mine`)).rejects.toThrow("fetch failed");
    expect(await (await fetch(site.origin)).text()).toBe("hello");
    expect(proxy.asked).toHaveLength(2);
  });
});

describe("the client of a service, behind a proxy", () => {
  const client = (apiKey = "key_1:secret") =>
    createClient({ baseUrl: `${named}/v3`, apiKey, retry: { maxAttempts: 1 } });

  test("reads a proxy that wants a password as an answer, not as one that was lost", async () => {
    proxy.refusal = 407;
    const error = await client()
      .balance()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 407, envelope: false });
  });
});

test("a bucket is asked through the proxy", async () => {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" });
  const { sdk, client } = await connectS3(parseBucketUrl(`s3://media?endpoint=${named}`));
  await client.send(new sdk.HeadBucketCommand({ Bucket: "media" }));
  client.destroy();
  expect(proxy.asked).toEqual([`HEAD ${named}/media/`]);
});

describe("a webhook of the local service", () => {
  const post = async (url: string, addresses: readonly string[]) => {
    const resolve = async () => addresses.map((address) => ({ address, family: 4 }));
    const outbound = createOutbound({ allowLoopback: false, ownPort: () => 1, timeoutMs: 20_000, resolve });
    const outcome = await outbound.post(url, { headers: {}, body: Buffer.from("x") });
    await outbound.close();
    return outcome;
  };

  test("goes through the proxy, also to a name that only the proxy knows", async () => {
    expect(await post(`${named}/hook`, ["8.8.8.8"])).toEqual({ is: "answered", status: 200 });
    expect(await post(`${named}/hook`, [])).toEqual({ is: "answered", status: 200 });
    expect(proxy.asked).toEqual([`POST ${named}/hook`, `POST ${named}/hook`]);
  });

  test("does not go to a private address, nor to a name that leads to one", async () => {
    expect(await post("http://10.1.2.3/hook", [])).toEqual({ is: "blocked" });
    expect(await post(`${named}/hook`, ["10.0.0.5"])).toEqual({ is: "blocked" });
    expect(proxy.asked).toEqual([]);
  });
});
