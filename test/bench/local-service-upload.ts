import { request } from "node:http";
import { PassThrough, Readable } from "node:stream";
import type { Report } from "./harness.ts";
import { startServer } from "./local-service-process.ts";

const RATE = 48_000;

function wavHeader(dataBytes: number): Buffer {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + dataBytes, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(2, 22);
  header.writeUInt32LE(RATE, 24);
  header.writeUInt32LE(RATE * 4, 28);
  header.writeUInt16LE(4, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(dataBytes, 40);
  return header;
}

const boundary = "bench-boundary";

function* parts(megabytes: number) {
  yield Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="blob"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  );
  const dataBytes = megabytes * 1024 * 1024;
  yield wavHeader(dataBytes);
  const chunk = Buffer.alloc(65_536, 1);
  for (let sent = 0; sent < dataBytes; sent += chunk.length) yield chunk;
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

/** A large upload: a WAV, which is measured after it came in. */
export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const megabytes = quick ? 50 : 200;
  const server = await startServer();
  const startedAt = performance.now();
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const type = `multipart/form-data; boundary=${boundary}`;
    const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": type };
    const upload = request(`${server.baseUrl}/files`, { method: "POST", headers });
    upload.on("response", (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode));
    });
    upload.on("error", reject);
    Readable.from(parts(megabytes)).pipe(new PassThrough()).pipe(upload);
  });
  if (status !== 201 && status !== 200) throw new Error(`the upload was answered with ${status}`);
  const group = `An upload of ${megabytes} MB`;
  report.figure(group, "wall time", "s", (performance.now() - startedAt) / 1000);
  report.figure(group, "resident memory at most", "MB", server.peakMb(), { most: 200 });
  await server.stop();
}
