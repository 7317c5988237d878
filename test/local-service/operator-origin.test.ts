import { request } from "node:http";
import { expect, test } from "vitest";
import type { LocalService } from "../../src/local-service/index.ts";
import { type Body, read, start } from "./support/service.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** A request with the headers given and no other, as no browser would let a page send it. */
function raw(service: LocalService, method: string, path: string, headers: Record<string, string>, body = "") {
  return new Promise<Answer>((resolve, reject) => {
    const sent = request({ port: service.port, host: "127.0.0.1", method, path, headers, setHost: false }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Every endpoint of the operator's side, from its own document. */
async function routesOf(service: LocalService): Promise<readonly (readonly [string, string])[]> {
  const { paths } = (await read(service, "/_local/openapi.json")) as Body;
  return Object.entries<object>(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => [method.toUpperCase(), `/_local${path}`] as const),
  );
}

const corsOf = ({ headers }: Answer) => Object.keys(headers).filter((name) => name.startsWith("access-control"));
const JSON_TYPE = { "Content-Type": "application/json" };

test("the operator's side answers no page but its own, on its own host and port, whatever the endpoint [other origins]", async () => {
  const service = await start();
  const { port } = service;
  const own = { Host: `127.0.0.1:${port}` };
  const refused: readonly Record<string, string>[] = [
    { ...own, Origin: `http://127.0.0.1:${port + 1}` },
    { ...own, Origin: `http://localhost:${port}` },
    { ...own, Origin: `https://127.0.0.1:${port}` },
    { ...own, Origin: "http://127.0.0.1" },
    { ...own, Origin: "null" },
    { ...own, Origin: "https://elsewhere.example" },
    { ...own, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors" },
    { ...own, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors" },
    { Host: `elsewhere.example:${port}` },
    { Host: `127.0.0.1.elsewhere.example:${port}` },
    { Host: `127.0.0.1:${port + 1}` },
    { Host: "127.0.0.1" },
  ];
  const before = (await read(service, "/_local/stats")).wallets;
  for (const [method, path] of await routesOf(service)) {
    for (const headers of refused) {
      const answer = await raw(service, method, path, { ...JSON_TYPE, ...headers }, method === "GET" ? "" : "{}");
      expect([method, path, headers, answer.status]).toEqual([method, path, headers, 403]);
      expect(corsOf(answer)).toEqual([]);
    }
  }
  expect((await read(service, "/_local/stats")).wallets).toEqual(before);
});

test("the operator's own page, its scripts and programs of this machine are answered, without CORS", async () => {
  const service = await start();
  for (const name of ["127.0.0.1", "localhost", "[::1]"]) {
    const host = `${name}:${service.port}`;
    const page = { Host: host, Origin: `http://${host}`, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors" };
    for (const headers of [{ Host: host }, page]) {
      const answer = await raw(service, "POST", "/_local/wallet", { ...JSON_TYPE, ...headers }, '{"add":1}');
      expect([headers, answer.status]).toEqual([headers, 200]);
      expect(corsOf(answer)).toEqual([]);
    }
    const typed = { Host: host, "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate" };
    const followed = { Host: host, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" };
    expect((await raw(service, "GET", "/_local/fund", typed)).status).toBe(200);
    expect((await raw(service, "GET", "/_local/fund", followed)).status).toBe(200);
    expect((await raw(service, "POST", "/_local/wallet", { ...JSON_TYPE, ...followed }, "{}")).status).toBe(403);
  }
});

test("a change on the operator's side must be sent as JSON, but for the form of the funding page", async () => {
  const service = await start();
  const Host = `127.0.0.1:${service.port}`;
  for (const [method, path] of await routesOf(service)) {
    if (method === "GET" || path === "/_local/fund") continue;
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]) {
      const { status } = await raw(service, method, path, { Host, "Content-Type": type }, '{"rules":[]}');
      expect([path, type, status]).toEqual([path, type, 400]);
    }
  }
  const form = { Host, "Content-Type": "application/x-www-form-urlencoded", Origin: `http://${Host}` };
  expect((await raw(service, "POST", "/_local/fund", form, "dollars=1")).status).toBe(200);
});
