import { request } from "node:http";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type McpHttp, startHttp } from "../../../src/studio/mcp/transports.ts";
import { isFull } from "../../support/sample.ts";
import { words } from "../../support/word-list.ts";
import { type SessionWorld, sessionWorld } from "./support/in-memory.ts";

const TOKEN = "a-token-that-only-the-agent-has";
let world: SessionWorld;
let served: McpHttp;
let quote: string;
beforeAll(async () => {
  world = await sessionWorld(1_000_000);
  quote = (await world.session.quote("poster", { subject: "x" }, { keep: true })).id!;
  served = await startHttp(world.session, { port: 0, token: TOKEN });
});
afterAll(async () => {
  await served.close();
  await world[Symbol.asyncDispose]();
});

interface Forged {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Not said beforehand. */
  readonly isChunked: boolean;
}

let calls = 0;
/** What would spend money, were it let in. */
function genuine(): Forged {
  calls += 1;
  const input = { pipeline: "poster", name: `forged-${calls}`, input: { subject: "x" }, quote };
  const params = { name: "run_pipeline", arguments: input };
  const message = { jsonrpc: "2.0", id: calls, method: "tools/call", params };
  return {
    ...{ method: "POST", path: "/mcp", isChunked: false, body: JSON.stringify(message) },
    headers: {
      Host: new URL(served.url).host,
      Authorization: `Bearer ${TOKEN}`,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
    },
  };
}

function send({ method, path, headers, body, isChunked }: Forged): Promise<{ status: number; text: string }> {
  const { port } = new URL(served.url);
  return new Promise((done, failed) => {
    const length: Record<string, string> = isChunked ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
    const to = { host: "127.0.0.1", port, method, path };
    const sending = request({ ...to, headers: { ...length, ...headers }, agent: false });
    sending.on("response", (response) => {
      let text = "";
      response.on("data", (piece) => {
        text += piece;
      });
      response.on("close", () => done({ status: response.statusCode!, text }));
    });
    // One who sends more than is read may find the line closed before the answer.
    sending.on("error", (error: NodeJS.ErrnoException) => {
      if (["ECONNRESET", "EPIPE"].includes(error.code ?? "")) done({ status: 413, text: "" });
      else failed(error);
    });
    sending.end(body);
  });
}

type Change = (forged: Forged) => Forged;
const header = (name: string, value: string): Change => {
  return (forged) => ({ ...forged, headers: { ...forged.headers, [name]: value } });
};
const without = (name: string): Change => {
  return ({ headers: { [name]: _, ...headers }, ...forged }) => ({ ...forged, headers });
};
const sending = (more: Partial<Forged>): Change => {
  return (forged) => ({ ...forged, ...more });
};
const text = fc.string({ unit: fc.constantFrom(..."abcXYZ019-._~:/@[]"), minLength: 1, maxLength: 30 });

/** Each makes of a genuine request one that must be refused. */
const flaw = fc.oneof(
  fc
    .oneof(fc.domain(), text, fc.constantFrom("127.0.0.1", "localhost:1", "[::1]:80"))
    .map((host) => header("Host", host)),
  fc
    .oneof(fc.webUrl(), fc.constantFrom("null", "http://127.0.0.1", "https://localhost"))
    .map((from) => header("Origin", from)),
  fc
    .oneof(
      text,
      fc.nat(TOKEN.length - 1).map((end) => TOKEN.slice(0, end)),
    )
    .map((token) => header("Authorization", `Bearer ${token}`)),
  fc
    .constantFrom(`Basic ${TOKEN}`, TOKEN, `Bearer ${TOKEN}x`, `Bearer  ${TOKEN} x`)
    .map((said) => header("Authorization", said)),
  text.map(
    (id): Change =>
      (forged) =>
        without("Authorization")(header("Mcp-Session-Id", id)(forged)),
  ),
  text.map(
    (token): Change =>
      (forged) => ({ ...without("Authorization")(forged), path: `/mcp?token=${encodeURIComponent(token)}` }),
  ),
  fc.constantFrom(...words("/ /mcp/ /mcp/.. /MCP /mcp?x //mcp /%6dcp /runs")).map((path) => sending({ path })),
  fc.constantFrom("PUT", "PATCH", "OPTIONS", "TRACE").map((method) => sending({ method })),
  fc
    .constantFrom("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
    .map((type) => header("Content-Type", type)),
  fc.record({ bytes: fc.integer({ min: 1_048_577, max: 1_500_000 }), isChunked: fc.boolean() }).map(
    ({ bytes, isChunked }): Change =>
      (forged) => ({ ...forged, isChunked, body: forged.body.padEnd(bytes, " ") }),
  ),
  fc.nat(20).map(
    (count): Change =>
      (forged) => ({ ...forged, body: `[${Array(count + 1).fill(forged.body)}]` }),
  ),
  fc.nat(60).map(
    (cut): Change =>
      (forged) => ({ ...forged, body: forged.body.slice(0, cut + 1) }),
  ),
  fc.constantFrom('"x"', "5", "null", '{"jsonrpc":"2.0"}').map((body) => sending({ body })),
);

const FORGED = isFull ? 500 : 60;

test(`of ${FORGED} forged requests none starts a run, and each is refused [agents]`, async () => {
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(flaw, { minLength: 1, maxLength: 3 }), async (flaws) => {
      sent += 1;
      const { status, text } = await send(flaws.reduce((forged, change) => change(forged), genuine()));
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
      expect(text).not.toContain(TOKEN);
    }),
    { numRuns: FORGED },
  );
  expect(sent).toBeGreaterThanOrEqual(FORGED);
  expect(await world.session.runs()).toEqual([]);
  expect(world.service.stats().jobs_created).toBe(0);
  // The same request without a flaw is let in: it was the flaws that were refused.
  expect((await send(genuine())).status).toBe(200);
  await world.session.idle();
  expect(world.service.stats().jobs_created).toBe(1);
});
