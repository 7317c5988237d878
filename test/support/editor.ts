import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const root = resolve(import.meta.dirname, "../..");

interface Answer {
  readonly id?: number | string;
  readonly method?: string;
  readonly result?: { readonly contents?: { readonly value?: string } } | null;
}

/** Returns the hover text that an editor shows at the first character of each needle in the text. */
export async function hovers(text: string, needles: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const folder = mkdtempSync(join(root, "test", ".editor-"));
  const file = join(folder, "use.ts");
  writeFileSync(file, text);
  const paths = { showrunner: [join(root, "src/index.ts")] };
  const config = { extends: "../../tsconfig.json", compilerOptions: { paths }, include: [], files: ["use.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const server = spawn(join(root, "node_modules/.bin/tsc"), ["--lsp", "--stdio"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  try {
    const { ask, tell } = connect(server.stdin, server.stdout);
    await ask("initialize", { processId: process.pid, rootUri: pathToFileURL(folder).href, capabilities: {} });
    tell("initialized", {});
    const uri = pathToFileURL(file).href;
    tell("textDocument/didOpen", { textDocument: { uri, languageId: "typescript", version: 1, text } });
    const shown = new Map<string, string>();
    for (const needle of needles) {
      const answer = await ask("textDocument/hover", { textDocument: { uri }, position: positionOf(text, needle) });
      shown.set(needle, answer.result?.contents?.value ?? "");
    }
    return shown;
  } finally {
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  }
}

function positionOf(text: string, needle: string): { readonly line: number; readonly character: number } {
  const at = text.indexOf(needle);
  if (at < 0) throw new Error(`there is no ${needle}`);
  const before = text.slice(0, at).split("\n");
  return { line: before.length - 1, character: before.at(-1)!.length };
}

/** Connects to a language server. Its protocol sends JSON after a header with the length. */
function connect(input: NodeJS.WritableStream, output: NodeJS.ReadableStream) {
  const waiting = new Map<number | string, (answer: Answer) => void>();
  let buffer = Buffer.alloc(0);
  let lastId = 0;
  const send = (message: object) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    input.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  output.on("data", (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk]);
    for (;;) {
      const head = /^(?:.*\r\n)*?Content-Length: (\d+)\r\n(?:.*\r\n)*?\r\n/i.exec(buffer.toString("latin1"));
      const length = Number(head?.[1]);
      if (head === null || buffer.length < head[0].length + length) return;
      const message = JSON.parse(buffer.subarray(head[0].length, head[0].length + length).toString("utf8")) as Answer;
      buffer = buffer.subarray(head[0].length + length);
      // What the server asks of the editor (settings, registrations) has no answer here.
      if (message.method !== undefined && message.id !== undefined) send({ id: message.id, result: null });
      else if (message.id !== undefined) waiting.get(message.id)?.(message);
    }
  });
  return {
    tell: (method: string, params: object) => send({ method, params }),
    ask: (method: string, params: object) =>
      new Promise<Answer>((found) => {
        const id = ++lastId;
        waiting.set(id, found);
        send({ id, method, params });
      }),
  };
}
