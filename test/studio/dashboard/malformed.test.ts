import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { fastFolder } from "../../../src/testing/surroundings.ts";
import { bytesOf, malformed, raw } from "../../support/malformed-requests.ts";
import { words } from "../../support/word-list.ts";
import { plantRun } from "./support/planted.ts";
import { type Served, serveDashboard, TOKEN } from "./support/serve.ts";

/* A sample of what dashboard/fuzz.full.test.ts and local-service/fuzz.full.test.ts send in thousands, to servers of this process. */

const REQUESTS = 100;
const FOREIGN = /node_modules|ENOENT|SQLITE|postgres:|at \w+ \(|\/src\//;
let served: Served;
let service: LocalService;
let cookie: string;
const defects: string[] = [];

beforeAll(async () => {
  served = await serveDashboard();
  await plantRun(served.journal, { id: "night", end: "succeeded", steps: [{ path: "one" }] });
  cookie = (await fetch(served.dashboard.url)).headers.get("set-cookie")!.split(";")[0]!;
  const onDefect = (error: unknown) => void defects.push(String(error));
  service = await startLocalService({ renderer: "stub", dataDir: await fastFolder("malformed-"), onDefect });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await service.close();
});

test(`${REQUESTS} malformed requests to the dashboard get no 5xx, no token and no word of this machine [other origins]`, async () => {
  const known = fc.constantFrom(
    ...["/", "/api/runs", "/api/runs/night", "/api/runs/night/events?before=%00", "/api/runs/night/step?path=%2e%2e"],
    ...[
      "/api/runs/night/stop",
      "/api/runs/%2e%2e%2f/resume",
      "/media/../../etc/passwd/0",
      "/assets/..%2f..%2fpackage.json",
    ],
  );
  const { origin } = served.dashboard;
  const { host, port } = new URL(origin);
  const others = fc.constantFrom(
    ...[[`Origin: ${origin}`], ["Origin: https://evil.test"], ["Origin: null"]],
    ...[[`Origin: ${origin}`, "Sec-Fetch-Site: cross-site"], ["Origin: http://127.0.0.1:1"]],
  );
  const hosts = fc.constantFrom(host, host, host, "evil.test", `evil.test:${port}`, "127.0.0.1.nip.io", "");
  let letIn = 0;
  await fc.assert(
    fc.asyncProperty(malformed(known, "/api"), others, hosts, async (sample, more, name) => {
      const own = sample.authorization === "valid" ? cookie : sample.authorization;
      const reply = await raw(Number(port), bytesOf(sample, [`Host: ${name}`, `Cookie: ${own}`, ...more]));
      expect(reply.status).toBeLessThan(500);
      expect(reply.text).not.toContain(TOKEN);
      if (reply.status >= 400) expect(reply.text).not.toMatch(FOREIGN);
      if (name !== host) expect(reply.status === 0 || reply.status >= 400).toBe(true);
      if (![0, 401, 403].includes(reply.status)) letIn += 1;
    }),
    { numRuns: REQUESTS },
  );
  expect(letIn).toBeGreaterThan(0);
  expect(served.defects).toEqual([]);
  expect((await fetch(`${origin}/api/runs/night`, { headers: { Cookie: cookie } })).status).toBe(200);
});

test(`${REQUESTS} malformed requests to the local service get 4xx with the envelope, and no word of this machine [bounded work]`, async () => {
  const known = fc.constantFrom(
    ...words("/v3/models/image-1 /v3/models/image-1/estimate /v3/files /v3/keys /v3/tokens /v3/jobs?cursor=%F0"),
    ...["/v3/jobs/job_x/status?logs_after=%%", "/uploads/../../credential", "/_local/clock", "/_local/faults"],
  );
  const port = new URL(service.baseUrl).port;
  await fc.assert(
    fc.asyncProperty(malformed(known, "/v3"), async (sample) => {
      const credential = sample.authorization === "valid" ? `Bearer ${service.apiKey}` : sample.authorization;
      const headers = [`Host: 127.0.0.1:${port}`, `Authorization: ${credential}`];
      const reply = await raw(Number(port), bytesOf(sample, headers));
      if (reply.status === 0) return;
      expect(reply.status).toBeLessThan(500);
      expect(reply.text).not.toContain(service.apiKey);
      expect(reply.text).not.toMatch(FOREIGN);
      if (reply.status >= 400 && sample.method !== "HEAD") expect(reply.text).toContain('"error":{"code":"');
    }),
    { numRuns: REQUESTS },
  );
  expect(defects).toEqual([]);
});
