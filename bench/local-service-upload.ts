import { request } from "node:http";
import { PassThrough, Readable } from "node:stream";
import { startServer } from "./local-service-process.ts";

/* An upload of 200 MB. Bar: under 200 MB of resident memory. The bytes are a WAV, which is measured after it came in. */
const MEGABYTES = Number(process.argv[2] ?? 200);
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

function* parts() {
  yield Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="blob"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  );
  const dataBytes = MEGABYTES * 1024 * 1024;
  yield wavHeader(dataBytes);
  const chunk = Buffer.alloc(65_536, 1);
  for (let sent = 0; sent < dataBytes; sent += chunk.length) yield chunk;
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

const server = await startServer();
const idleMb = server.rssMb();
const started = performance.now();
let duringMb = 0;
const sampler = setInterval(() => {
  duringMb = Math.max(duringMb, server.rssMb());
}, 20);

const status = await new Promise<string>((resolve, reject) => {
  const upload = request(`${server.baseUrl}/files`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.apiKey}`, "content-type": `multipart/form-data; boundary=${boundary}` },
  });
  upload.on("response", (answer) => {
    let text = "";
    answer.on("data", (chunk) => {
      text += chunk;
    });
    answer.on("end", () => resolve(`${answer.statusCode} ${text.slice(0, 300)}`));
  });
  upload.on("error", reject);
  Readable.from(parts()).pipe(new PassThrough()).pipe(upload);
});
clearInterval(sampler);
console.log({
  megabytes: MEGABYTES,
  status,
  seconds: Math.round((performance.now() - started) / 100) / 10,
  idleMb,
  duringMb,
  peakMb: server.peakMb(),
});
await server.stop();
