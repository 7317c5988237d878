import { createServer } from "node:http";
import { expect, test } from "vitest";
import { ConnectionError, createClient } from "../../../src/core/api/index.ts";
import { listen } from "../../support/listen.ts";

const MIB = 1024 * 1024;

test.each([
  { status: 200, what: "an answer", mostMib: 16 },
  { status: 500, what: "an error", mostMib: 1 },
])("of $what without end no more than $mostMib MiB are read [service responses]", async ({ status, mostMib }) => {
  let socketBytes = 0;
  const closed = Promise.withResolvers<void>();
  const server = createServer((request, answer) => {
    request.socket.once("close", () => {
      socketBytes = request.socket.bytesWritten;
      closed.resolve();
    });
    answer.writeHead(status, { "content-type": "application/json" });
    const piece = Buffer.from("[],".repeat(20_000));
    const fill = () => {
      while (!answer.destroyed && answer.write(piece));
    };
    answer.on("drain", fill);
    fill();
  });
  const { origin, close } = await listen(server);
  const baseUrl = `${origin}/v3`;
  const client = createClient({ baseUrl, apiKey: "key:secret", retry: { maxAttempts: 1 } });
  const read = client.job("job_1");
  await expect(read).rejects.toThrow(ConnectionError);
  await expect(read).rejects.toThrow(`the response is larger than ${mostMib * MIB} bytes`);
  await closed.promise;
  // What lay in buffers of the machine between the two was written, and never read.
  expect(socketBytes).toBeLessThan((mostMib + 14) * MIB);
  await client.close();
  await close();
});
