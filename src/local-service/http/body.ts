import type { IncomingMessage } from "node:http";
import { invalid, problem } from "./refusal.ts";

/** Largest JSON body: room for many long shot prompts, and a bound on memory. */
export const MAX_JSON_BYTES = 16 * 1024 * 1024;
/** Deepest nesting of a JSON body. */
const MAX_DEPTH = 64;

const bad = (text: string, reason: string) => invalid([problem("body", text, reason)]);
const tooLarge = () => bad(`is larger than ${MAX_JSON_BYTES} bytes`, "max_size");

/** Collects the body; stops at the limit. @throws Refusal 400 */
export function readBody(incoming: IncomingMessage): Promise<Buffer> {
  if (Number(incoming.headers["content-length"] ?? 0) > MAX_JSON_BYTES) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_JSON_BYTES) chunks.push(chunk);
      else reject(tooLarge());
    });
    incoming.once("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    incoming.once("error", () => reject(bad("was cut short", "incomplete")));
    incoming.once("close", () => reject(bad("was cut short", "incomplete")));
  });
}

/** Whether a parsed value nests deeper than allowed; walks without recursion. */
function isTooDeep(value: unknown): boolean {
  const stack: [unknown, number][] = [[value, 0]];
  for (let item = stack.pop(); item; item = stack.pop()) {
    const [node, depth] = item;
    if (typeof node !== "object" || node === null) continue;
    if (depth >= MAX_DEPTH) return true;
    for (const child of Object.values(node)) stack.push([child, depth + 1]);
  }
  return false;
}

/** Strict UTF-8 JSON; an empty body counts as `{}`. @throws Refusal 400 */
export async function readJson(incoming: IncomingMessage): Promise<unknown> {
  const bytes = await readBody(incoming);
  if (bytes.length === 0) return {};
  const value = parse(bytes);
  if (isTooDeep(value)) throw bad(`nests deeper than ${MAX_DEPTH} levels`, "max_depth");
  return value;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw bad("is not valid JSON", "json");
  }
}
