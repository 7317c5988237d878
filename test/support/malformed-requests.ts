import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { anyCharacter } from "./any-character.ts";

/* Malformed requests over bare sockets, for whatever serves HTTP here. */

export interface RawReply {
  readonly status: number;
  readonly text: string;
}

/** Sends bytes unchanged, and reads until the server closes the connection. */
export async function raw(port: number, bytes: string): Promise<RawReply> {
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
const noise = fc.string({ unit: anyCharacter, maxLength: 40 }).map((text) => text.replaceAll(/[\r\n]/g, "?"));
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
const pathBelow = (prefix: string) =>
  fc.array(segment, { maxLength: 6 }).map((parts) => `${prefix}/${parts.join("/")}`);
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

/** A request that may be wrong in every part; its path is one of a server's paths or an unknown path. */
export const malformed = (known: fc.Arbitrary<string>, prefix: string) =>
  fc.record({
    method,
    target: fc.oneof(
      pathBelow(prefix),
      known,
      known,
      noise.map((text) => `${prefix}/${text.replaceAll(" ", "")}`),
    ),
    authorization,
    contentType,
    header: fc.option(strangeHeader),
    body,
    lengthError: fc.constantFrom(0, 0, 0, 0, -1),
  });

export type Malformed = typeof malformed extends (...args: never[]) => fc.Arbitrary<infer T> ? T : never;

/** The bytes of a request, with additional headers for the server. */
export function bytesOf(sample: Malformed, headers: readonly string[]): string {
  const bytes = Buffer.from(sample.body, "utf8").toString("latin1");
  const lines = [
    `${sample.method} ${sample.target} HTTP/1.1`,
    "Connection: close",
    `Content-Type: ${sample.contentType}`,
    `Content-Length: ${Math.max(0, bytes.length + sample.lengthError)}`,
    ...headers,
    ...(sample.header === null ? [] : [sample.header]),
  ];
  return `${lines.join("\r\n")}\r\n\r\n${bytes}`;
}
