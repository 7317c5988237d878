import type { IncomingMessage } from "node:http";
import { type Excess, JsonSize, MAX_DEPTH, MAX_FIELDS, MAX_VALUES } from "./json-size.ts";
import { invalid, problem } from "./refusal.ts";

/** Largest JSON body: room for many long shot prompts, and a bound on memory. */
export const MAX_JSON_BYTES = 16 * 1024 * 1024;

/** So much of a refused body is read and forgotten before the connection is cut. */
const MAX_READ_BYTES = 4 * MAX_JSON_BYTES;

const bad = (text: string, reason: string) => invalid([problem("body", text, reason)]);

const EXCESS: Readonly<Record<Excess, string>> = {
  max_depth: `nests deeper than ${MAX_DEPTH} levels`,
  max_values: `holds more than ${MAX_VALUES} values`,
  max_fields: `has an object with more than ${MAX_FIELDS} fields`,
};

interface BodyLimits {
  readonly maxBytes: number;
  /** Looks at each piece as it comes; a sentence and a reason refuse the body. */
  readonly inspect?: (piece: Buffer) => Excess | null;
}

/** Collects the body; stops at the limit. @throws Refusal 400 */
export function readBody(incoming: IncomingMessage, { maxBytes, inspect = () => null }: BodyLimits): Promise<Buffer> {
  const tooLarge = () => bad(`is larger than ${maxBytes} bytes`, "max_size");
  if (Number(incoming.headers["content-length"] ?? 0) > maxBytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] | null = [];
    let size = 0;
    const giveUp = (error: Error) => {
      // What still comes is read and forgotten: an answer to a request that is cut off would not arrive.
      chunks = null;
      reject(error);
    };
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (chunks === null) {
        if (size > MAX_READ_BYTES) incoming.destroy();
        return;
      }
      const excess = size > maxBytes ? "max_size" : inspect(chunk);
      if (excess === null) chunks.push(chunk);
      else giveUp(excess === "max_size" ? tooLarge() : bad(EXCESS[excess], excess));
    });
    incoming.once("end", () => chunks && resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    incoming.once("error", () => reject(bad("was cut short", "incomplete")));
    incoming.once("close", () => reject(bad("was cut short", "incomplete")));
  });
}

/** Strict UTF-8 JSON of bounded size; an empty body counts as `{}`. @throws Refusal 400 */
export async function readJson(incoming: IncomingMessage): Promise<unknown> {
  const size = new JsonSize();
  const bytes = await readBody(incoming, { maxBytes: MAX_JSON_BYTES, inspect: (piece) => size.add(piece) });
  return bytes.length === 0 ? {} : parse(bytes);
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw bad("is not valid JSON", "json");
  }
}
