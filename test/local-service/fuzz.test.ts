import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { get, start } from "./support/service.ts";

/* Malformed requests over bare sockets. FUZZ_REQUESTS sets the number; the full check sends 50,000. */
const isFull = process.env["SHOWRUNNER_TEST_RUNS"] !== undefined;
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? (isFull ? 50_000 : 4_000));

interface RawReply {
  readonly status: number;
  readonly text: string;
}

/** Sends bytes as they are and reads until the server closes. */
async function raw(port: number, bytes: string): Promise<RawReply> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => undefined);
  socket.end(bytes, "latin1");
  await once(socket, "close");
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text };
}

const token = (pattern: RegExp) => fc.stringMatching(pattern);
const noise = fc.string({ unit: "binary", maxLength: 40 }).map((text) => text.replaceAll(/[\r\n]/g, "?"));
const escapes = fc.constantFrom(
  "%",
  "%E0%A4%A",
  "%00",
  "%2e%2e%2f",
  "%ff",
  "..%5c",
  "{job_id}",
  "é",
  "☃",
  "a".repeat(2000),
);
const segment = fc.oneof(
  token(/^[a-z_]{1,12}$/),
  escapes,
  fc.constantFrom("jobs", "models", "files", "keys", "image-1", "job_x"),
);
const path = fc.array(segment, { maxLength: 6 }).map((parts) => `/v3/${parts.join("/")}`);
const known = fc.constantFrom(
  "/v3/models/image-1",
  "/v3/models/video-1",
  "/v3/models/image-1/estimate",
  "/v3/files",
  "/v3/keys",
  "/v3/tokens",
  "/v3/jobs?limit=x",
  "/v3/jobs?cursor=%F0",
  "/v3/usage?start=%00",
  "/v3/jobs/job_x/status?logs_after=%%",
  "/media/asset_x?expires=1&signature=%",
  "/uploads/../../credential",
  "/_local/clock",
  "/_local/faults",
);
const method = fc.oneof(fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"), token(/^[A-Z]{3,8}$/));
const deep = fc.constantFrom(1, 63, 65, 5_000).map((depth) => `{"input":${"[".repeat(depth)}${"]".repeat(depth)}}`);
const json = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc.json({ maxDepth: 3 }).map((text) => `{"input":${text},"idempotency_key":${text},"webhook":${text}}`),
  deep,
  fc.constantFrom(
    '{"input":{"__proto__":{"x":1}}}',
    '{"input":',
    "[]",
    "null",
    "1e999",
    '{"input":{"prompt":"\\ud800"}}',
    "\u00ff\u00fe",
  ),
);
const multipart = fc.oneof(
  fc.constant('--b\r\nContent-Disposition: form-data; name="file"; filename="../../x"\r\n\r\nhello\r\n--b--\r\n'),
  fc.constant('--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nnever ends'),
  fc.constant("--b--\r\n"),
  noise,
);
const body = fc.oneof(json, multipart, noise, fc.constant(""));
const contentType = fc.constantFrom(
  "application/json",
  "multipart/form-data; boundary=b",
  "multipart/form-data",
  "multipart/form-data; boundary=",
  "text/plain",
  "",
);
const strangeHeader = fc.oneof(
  fc.constantFrom(
    "Range: bytes=-",
    "Last-Event-ID: 99999999999999999999",
    "Expect: nothing",
    "Host:",
    "Content-Length: -1",
    "Transfer-Encoding: x",
    ": empty",
    `X: ${"y".repeat(20_000)}`,
  ),
  noise.map((text) => `X-Noise: ${text}`),
);
const authorization = fc.constantFrom(
  "valid",
  "valid",
  "valid",
  "",
  "Bearer",
  "Key :",
  "Basic eDp5",
  "Bearer \u00e9:\u00e9",
  "Bearer tok_",
);

const request = fc.record({
  method,
  target: fc.oneof(
    path,
    known,
    known,
    noise.map((text) => `/v3/${text.replaceAll(" ", "")}`),
  ),
  authorization,
  contentType,
  header: fc.option(strangeHeader),
  body,
  lengthError: fc.constantFrom(0, 0, 0, 0, -1),
});

test(`${REQUESTS} malformed requests get 4xx with the envelope, never 5xx, and the service goes on`, {
  timeout: isFull ? 900_000 : 60_000,
}, async () => {
  const defects: unknown[] = [];
  const seen = { answered: 0, refused: 0 };
  const service = await start({ onDefect: (error) => defects.push(error) });
  const ask = (sample: typeof request extends fc.Arbitrary<infer T> ? T : never) => {
    const credential = sample.authorization === "valid" ? `Bearer ${service.apiKey}` : sample.authorization;
    const bytes = Buffer.from(sample.body, "utf8").toString("latin1");
    const length = Math.max(0, bytes.length + sample.lengthError);
    const lines = [
      `${sample.method} ${sample.target} HTTP/1.1`,
      "Host: 127.0.0.1",
      "Connection: close",
      `Authorization: ${credential}`,
      `Content-Type: ${sample.contentType}`,
      `Content-Length: ${length}`,
      ...(sample.header === null ? [] : [sample.header]),
    ];
    return raw(service.port, `${lines.join("\r\n")}\r\n\r\n${bytes}`);
  };
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 50, maxLength: 50 }), async (samples) => {
      const replies = await Promise.all(samples.map(ask));
      for (const [index, reply] of replies.entries()) {
        if (reply.status === 0) continue;
        seen.answered += 1;
        if (reply.status >= 400) seen.refused += 1;
        expect([samples[index], reply.status < 500]).toEqual([samples[index], true]);
        const hasEnvelope = reply.text.includes('"error":{"code":"') && reply.text.includes('"trace_id":"');
        const isHead = samples[index]!.method === "HEAD";
        if (reply.status >= 400)
          expect([samples[index], reply.text, hasEnvelope || isHead]).toEqual([samples[index], reply.text, true]);
      }
    }),
    { endOnFailure: true, numRuns: Math.ceil(REQUESTS / 50) },
  );
  expect(defects).toEqual([]);
  expect(seen.answered).toBeGreaterThan(REQUESTS * 0.9);
  expect(seen.refused).toBeGreaterThan(REQUESTS * 0.7);
  expect((await get(service, "/balance")).status).toBe(200);
});
