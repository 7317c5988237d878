import { join } from "node:path";
import { startLocalService } from "showrunner-local";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtPage, scriptBytes } from "../../../scripts/dashboard-page.ts";
import { openMediaStore } from "../../../src/core/engine/media/folder-store.ts";
import { createMemoryJournal, openShowrunner } from "../../../src/index.ts";
import { PortInUseError, startDashboard } from "../../../src/studio/dashboard/index.ts";
import type { Gauges } from "../../../src/studio/dashboard/views/document.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { words } from "../../support/word-list.ts";
import { ask as askOf, cookieOf, type Sent } from "./support/ask.ts";
import { eventually } from "./support/eventually.ts";
import { plantRun } from "./support/planted.ts";
import { type Served, serveDashboard, TOKEN } from "./support/serve.ts";

let served: Served;
let cookie = "";

beforeAll(async () => {
  served = await serveDashboard();
  const picture = await served.picture(200);
  const html = Buffer.from("<script>alert(1)</script>");
  const page = await served.media.put({ bytes: html });
  await plantRun(served.journal, {
    id: "night",
    end: "succeeded",
    steps: [
      { path: "part/one", outputs: [picture] },
      { path: "page", outputs: [{ sha256: page.sha256, contentType: "text/html" }] },
      { path: "drawing", outputs: [{ sha256: page.sha256, contentType: "image/svg+xml" }] },
    ],
  });
  cookie = await cookieOf(served.dashboard.url);
});
afterAll(() => served[Symbol.asyncDispose]());

const ask = ({ headers, ...sent }: Sent) =>
  askOf(served.dashboard.origin, { ...sent, headers: { ...(cookie !== "" && { cookie }), ...headers } });
const own = () => ({ origin: served.dashboard.origin, "content-type": "application/json" });
const media = "/media/night/part%2Fone/0";

describe("who may come in", () => {
  test("without the token there is nothing to see, not even the page's script", async () => {
    for (const path of ["/", "/api/runs", "/api/runs/night", "/api/live", media, "/assets/index.js", "/api/gauges"]) {
      expect((await ask({ path, headers: { cookie: "" } })).status).toBe(401);
    }
  });

  test("a wrong token, a shorter one and a longer one are refused, and set no cookie", async () => {
    for (const token of ["wrong", TOKEN.slice(0, -1), `${TOKEN}x`, ""]) {
      const answer = await ask({ path: `/?token=${token}`, headers: { cookie: "" } });
      expect(answer.status).toBe(401);
      expect(answer.headers["set-cookie"]).toBeUndefined();
    }
  });

  test("the token becomes a cookie that scripts and other sites cannot use, and is not in it", async () => {
    const answer = await ask({ path: `/runs/night?token=${TOKEN}`, headers: { cookie: "" } });
    const [set = ""] = answer.headers["set-cookie"] as string[];
    expect(set).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(set).not.toContain(TOKEN);
    expect(answer.headers.refresh).toBe("0; url=/runs/night");
  });

  test("the way on after the token stays on this server", async () => {
    const answer = await ask({ path: `//elsewhere.test/x?token=${TOKEN}`, headers: { cookie: "" } });
    expect(String(answer.headers.refresh)).not.toContain("//");
  });

  test("another name for this machine is refused, whoever asks (DNS rebinding) [other hosts]", async () => {
    const { port } = new URL(served.dashboard.origin);
    const others = `evil.test:${port} evil.test 127.0.0.1.evil.test:${port} localhost.:${port} 127.0.0.1:1`;
    for (const host of words(others)) {
      expect((await ask({ path: "/api/runs", headers: { host } })).status).toBe(403);
      expect((await ask({ path: `/?token=${TOKEN}`, headers: { host } })).status).toBe(403);
    }
    expect((await ask({ path: "/api/runs", headers: { host: `localhost:${port}` } })).status).toBe(200);
  });

  test("a post from another site, or from nowhere, is refused although the cookie came along [other origins]", async () => {
    const body = "{}";
    const type = { "content-type": "application/json" };
    for (const headers of [
      type,
      { ...type, origin: "http://evil.test" },
      { ...type, origin: "null" },
      { ...type, origin: served.dashboard.origin.replace("http:", "https:") },
      { ...own(), "sec-fetch-site": "cross-site" },
      { ...own(), "sec-fetch-site": "same-site" },
    ]) {
      const answer = await ask({ method: "POST", path: "/api/runs/night/stop", headers, body });
      expect(answer.status).toBe(403);
    }
    expect((await ask({ method: "POST", path: "/api/runs/night/stop", headers: own(), body })).status).toBe(200);
  });

  test("another site's page cannot load pictures or data from here", async () => {
    for (const mode of ["no-cors", "cors"]) {
      const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": mode };
      expect((await ask({ path: media, headers })).status).toBe(403);
    }
  });
});

describe("what answers say", () => {
  test("every answer forbids foreign script, frames and guesses", async () => {
    for (const path of ["/", "/api/runs", "/nowhere", media]) {
      const { headers } = await ask({ path });
      const frames = { "x-content-type-options": "nosniff", "x-frame-options": "DENY" };
      const policies = { "referrer-policy": "no-referrer", "cross-origin-resource-policy": "same-origin" };
      expect(headers).toMatchObject({ ...frames, ...policies });
      const policy = String(headers["content-security-policy"]);
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
    }
  });

  test("the page loads script and style from files only", async () => {
    const html = (await ask({ path: "/" })).body.toString();
    expect(html.match(/<script[^>]*>/g)).toHaveLength(1);
    expect(html).toMatch(/<script type="module"[^>]* src="\/assets\/[\w-]+\.js"><\/script>/);
    expect(html).not.toMatch(/<style| style=| on\w+=/);
  });

  test("the page's script weighs less than 64 KB, compressed", async () => {
    const bytes = scriptBytes(await builtPage());
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(64 * 1024);
  });
});

describe("media", () => {
  test("come by run, step and position, with their type, whole or in parts", async () => {
    const { status, headers, body: whole } = await ask({ path: media });
    const sent = { "content-type": "image/png", "content-security-policy": "default-src 'none'; sandbox" };
    expect([status, headers, whole.subarray(1, 4).toString()]).toMatchObject([200, sent, "PNG"]);
    const part = await ask({ path: media, headers: { range: "bytes=4-9" } });
    const range = { "content-range": `bytes 4-9/${whole.length}` };
    expect(part).toMatchObject({ status: 206, headers: range, body: whole.subarray(4, 10) });
    expect((await ask({ path: media, headers: { range: `bytes=${whole.length}-` } })).status).toBe(416);
  });

  test("that could hold script are offered as files, under no type of their own", async () => {
    for (const step of ["page", "drawing"]) {
      const { headers } = await ask({ path: `/media/night/${step}/0` });
      const offered = { "content-type": "application/octet-stream", "content-disposition": "attachment" };
      expect(headers).toMatchObject(offered);
    }
  });

  test.each(
    words(`
    /media/night/..%2F..%2F..%2Fetc%2Fpasswd/0 /media/../../../../etc/passwd /media/night/part%2Fone/..%2F..%2F0
    /media/night/part%2Fone/0%00.png /media/%2e%2e/%2e%2e/0 /media/night/__proto__/0 /media/night/constructor/upload
    /media/night/part%2Fone/-1 /media/night/part%2Fone/1 /media/night/part%2Fone/upload /media/night/%E0%A4%A/0
    /assets/..%2Findex.html /assets/..%2F..%2F..%2Fpackage.json /assets/%2Fetc%2Fpasswd /assets/.env
    /../../etc/passwd /runs/night/log/../../../../etc/passwd http://evil.test/api/runs
  `),
  )("%s leads nowhere", async (path) => {
    expect([403, 404]).toContain((await ask({ path })).status);
  });
});

describe("requests that go too far", () => {
  test("a body of 10 MB is refused without being read to its end", async () => {
    const body = JSON.stringify({ pipeline: "x", input: { prompt: "a".repeat(10_000_000) } });
    const answer = await ask({ method: "POST", path: "/api/plan", headers: own(), body }).catch(
      (error: NodeJS.ErrnoException) => error.code,
    );
    // The server hangs up on the rest; whether its answer is read before that is up to the sockets.
    expect(typeof answer === "string" ? answer : answer?.status).toSatisfy(
      (end: unknown) => end === 413 || end === "ECONNRESET" || end === "EPIPE",
    );
    expect((await ask({ path: "/api/runs" })).status).toBe(200);
  });

  test("what is no JSON object is refused", async () => {
    const post = async (body: string, more = {}) =>
      (await ask({ method: "POST", path: "/api/runs/night/approve", headers: { ...own(), ...more }, body })).status;
    expect(await post("{}", { "content-type": "text/plain" })).toBe(415);
    const picks = [-1, "0"].map((pick) => ({ step: "page", pick }));
    const bodies = [{}, { step: 5 }, { step: "x".repeat(20_000) }, ...picks].map((body) => JSON.stringify(body));
    for (const body of ["[]", "null", "{", '"x"', ...bodies]) expect(await post(body)).toBe(400);
  });

  test("what does not exist is said so, in words", async () => {
    const { status, body } = await ask({ path: "/api/runs/never" });
    const error = { code: "NOT_FOUND", message: "This run was not found." };
    expect([status, JSON.parse(String(body))]).toEqual([404, { error }]);
    expect((await ask({ path: "/api/live?run=night&after=x" })).status).toBe(400);
    expect((await ask({ path: "/api/runs?limit=-1" })).status).toBe(400);
    expect((await ask({ method: "DELETE", path: "/api/runs/night", headers: own() })).status).toBe(404);
  });

  test("nothing of this was a surprise", () => expect(served.defects).toEqual([]));
});

test("a port that is taken is said to be, with what to type next", async () => {
  const port = Number(new URL(served.dashboard.origin).port);
  const { show, journal, media: store } = served;
  const refused = startDashboard({ show, journal, media: store, port });
  await expect(refused).rejects.toThrow(PortInUseError);
  await expect(refused).rejects.toMatchObject({ next: expect.stringContaining("--port 0") });
});

test("when the local service ends with the command that embedded it, the dashboard takes another one", async () => {
  const localDir = join(newFolder(), "local");
  const theirs = await startLocalService({ dataDir: localDir, renderer: "stub" });
  const journal = createMemoryJournal();
  const mediaDir = join(localDir, "..", "media");
  const open = () => openShowrunner({ journal, local: true, localDir, mediaDir });
  let show = await open();
  const dashboard = await startDashboard({
    show,
    journal,
    media: await openMediaStore(mediaDir),
    token: TOKEN,
    reopen: async (lost) => {
      await lost.close();
      show = await open();
      return show;
    },
  });
  const headers = { cookie: await cookieOf(dashboard.url) };
  const gauges = async () => (await (await fetch(`${dashboard.origin}/api/gauges`, { headers })).json()) as Gauges;
  await theirs.close();
  await eventually(async () => (await gauges()).balanceMicros).toBe(25_000_000);
  await dashboard.close();
  await show.close();
});
