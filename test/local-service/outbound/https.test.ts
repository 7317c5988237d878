import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { createOutbound } from "../../../src/local-service/outbound/outbound.ts";

/** A certificate for the name `hooks.test`, signed by itself; the key guards nothing. */
const fixture = (name: string) => readFileSync(join(import.meta.dirname, "fixtures", name), "utf8");
const cert = fixture("hooks.test.cert.pem");
const trusted = getCACertificates("default");
const closing: (() => unknown)[] = [];

afterEach(async () => {
  setDefaultCACertificates(trusted);
  for (const close of closing.splice(0)) await close();
});

const message = { headers: {}, body: Buffer.from("hello") };

/** A server over TLS on loopback, and a way out to which every name is that server. */
async function secureServer() {
  const names: (string | false | null)[] = [];
  const server = createServer({ key: fixture("hooks.test.key.pem"), cert }, (request, response) => {
    names.push((request.socket as TLSSocket).servername ?? null);
    request.resume().on("end", () => void response.end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
  const out = createOutbound({ allowLoopback: true, ownPort: () => 1, timeoutMs: 5_000, resolve });
  closing.push(out.close, () => server.close());
  return { out, port, names };
}

test("over TLS the certificate is checked against the name, while the connection goes to the pinned address", async () => {
  const { out, port, names } = await secureServer();
  setDefaultCACertificates([cert]);
  expect(await out.post(`https://hooks.test:${port}/`, message)).toEqual({ is: "answered", status: 200 });
  expect(names).toEqual(["hooks.test"]);
  expect(await out.post(`https://other.test:${port}/`, message)).toEqual({ is: "unreachable" });
  expect(names).toHaveLength(1);
});

test("a certificate that nobody vouches for is refused", async () => {
  const { out, port, names } = await secureServer();
  expect(await out.post(`https://hooks.test:${port}/`, message)).toEqual({ is: "unreachable" });
  expect(names).toEqual([]);
});
