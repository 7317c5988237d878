import { connect } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { allowedHosts } from "../../../src/studio/dashboard/http/visitor.ts";
import { words } from "../../support/word-list.ts";
import { ask, cookieOf } from "./support/ask.ts";
import { serveDashboard } from "./support/serve.ts";

const portOf = (origin: string) => Number(new URL(origin).port);

test("a dashboard on all addresses answers by this machine's own names and those allowed, and by no other", async () => {
  await using served = await serveDashboard({ host: "0.0.0.0", allowHosts: ["studio.lan", "fd00::7"] });
  const port = portOf(served.dashboard.origin);
  const origin = `http://127.0.0.1:${port}`;
  const own = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.filter(({ family }) => family === "IPv4").map(({ address }) => address),
  );
  const ours = words(`127.0.0.1 localhost ${hostname()} ${hostname()}.local studio.lan STUDIO.lan [fd00::7]`);
  const others = words("elsewhere.example studio.lan.elsewhere.example 0.0.0.0 localhost.elsewhere.example");
  for (const name of [...ours, ...own, ...others]) {
    const { status } = await ask(origin, { path: "/", headers: { Host: `${name}:${port}` } });
    expect([name, status]).toEqual([name, others.includes(name) ? 403 : 401]);
  }
  expect(new URL(served.dashboard.url).hostname).toBe("127.0.0.1");
});

test("a dashboard on one address takes neither the machine's other names nor other ports", () => {
  const own = ["studio", "10.0.0.7"];
  const local = words("127.0.0.1:8788 localhost:8788 [::1]:8788");
  expect(allowedHosts({ host: "127.0.0.1", port: 8788, own })).toEqual(local);
  expect(allowedHosts({ host: "10.0.0.7", port: 80, own, allowed: ["a.lan"] })).toEqual(
    words("10.0.0.7:80 10.0.0.7 a.lan:80 a.lan a.lan:443"),
  );
});

test("HEAD is answered on every address that GET is, the live stream included, without a body", async () => {
  await using served = await serveDashboard();
  const { origin, url } = served.dashboard;
  const headers = { Cookie: await cookieOf(url), Host: new URL(origin).host };
  for (const path of ["/", "/api/runs", "/api/live", "/api/pipelines"]) {
    const { status, body } = await ask(origin, { path, method: "HEAD", headers });
    expect([path, status, body.length]).toEqual([path, 200, 0]);
  }
  const stream = await ask(origin, { path: "/api/live", method: "HEAD", headers });
  expect(stream.headers["content-type"]).toContain("text/event-stream");
});

test("a body that is cut off in the middle is no defect of the dashboard", async () => {
  await using served = await serveDashboard();
  const { origin, url } = served.dashboard;
  const cookie = await cookieOf(url);
  const { host } = new URL(origin);
  const own = [`Host: ${host}`, `Origin: ${origin}`, `Cookie: ${cookie}`];
  const head = ["POST /api/plan HTTP/1.1", ...own, "Content-Type: application/json", "Content-Length: 1000"];
  for (const ending of ["destroy", "end"] as const) {
    await new Promise<void>((closed) => {
      const socket = connect(portOf(origin), "127.0.0.1", () => {
        socket.write(`${head.join("\r\n")}\r\n\r\n{"pipeline":`, () => setImmediate(() => socket[ending]()));
      });
      socket
        .on("close", () => closed())
        .on("error", () => undefined)
        .resume();
    });
  }
  // A request that comes after both has been answered once both are done with.
  expect((await fetch(`${origin}/api/runs`, { headers: { cookie } })).status).toBe(200);
  expect(served.defects).toEqual([]);
});
