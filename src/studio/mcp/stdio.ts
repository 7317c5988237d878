import { Transform } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { malformedLine } from "./malformed.ts";
import { createServer } from "./server.ts";
import type { AgentSession } from "./session.ts";

const MOST_BYTES = 10 * 1024 * 1024;

export async function serveStdio(session: AgentSession, signal: AbortSignal): Promise<void> {
  const server = createServer(session);
  const say = (answer: object) => void process.stdout.write(`${JSON.stringify(answer)}\n`);
  const lines = boundedLines(
    MOST_BYTES,
    (message) => say({ jsonrpc: "2.0", id: null, error: { code: -32_600, message } }),
    (line) => {
      const answer = malformedLine(line.toString("utf8"));
      if (answer !== null) say(answer);
      return answer === null;
    },
  );
  const closed = new Promise<void>((done) => {
    server.onclose = done;
    lines.once("end", done);
    process.stdin.once("close", () => lines.end());
    signal.addEventListener("abort", () => done(), { once: true });
  });
  process.stdin.pipe(lines);
  await server.connect(new StdioServerTransport(lines, process.stdout, { maxBufferSize: 2 * MOST_BYTES }));
  if (!signal.aborted) await closed;
  process.stdin.unpipe(lines).pause();
  await server.close();
}

/** Drops lines that are too long or invalid, because they would end the transport. */
export function boundedLines(
  mostBytes: number,
  refuse: (message: string) => void,
  isMessage: (line: Buffer) => boolean = () => true,
): Transform {
  let pieces: Buffer[] = [];
  let sizeBytes = 0;
  const add = (piece: Buffer) => {
    sizeBytes += piece.length;
    if (sizeBytes <= mostBytes) pieces.push(piece);
    else pieces = [];
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        add(chunk.subarray(from, end + 1));
        if (sizeBytes > mostBytes)
          refuse(`A message of ${sizeBytes} bytes is too long; the limit is ${mostBytes} bytes.`);
        else {
          const line = Buffer.concat(pieces);
          if (isMessage(line)) this.push(line);
        }
        [pieces, sizeBytes, from] = [[], 0, end + 1];
      }
      add(chunk.subarray(from));
      done();
    },
  });
}
