import { MIMEType } from "node:util";
import { type BodyBounds, badRequest, bodyOfRequest, readBytes, readJson } from "../served/index.ts";

type Body = Readonly<Record<string, unknown>>;

/** Largest body without files, bytes. */
export const MOST_JSON_BYTES = 1024 * 1024;
/** Of a form: files, the input, and what is said beside it. */
const MOST_PARTS = 120;

/** The JSON object of a request. @throws Refusal 408 when it takes too long, 413 when it is too large, 415 when it is no JSON, 400 when malformed */
export function jsonBody(request: Request): Promise<Body> {
  return readJson(bodyOfRequest(request), boundsOf(MOST_JSON_BYTES));
}

export function boundsOf(mostBytes: number): BodyBounds {
  return { mostBytes, instead: "name large files by a URL" };
}

/** The parts of a form with files. @throws Refusal 408, 413, 400 */
export async function formBody(request: Request, mostBytes: number): Promise<FormData> {
  const bytes = await readBytes(bodyOfRequest(request), boundsOf(mostBytes));
  const type = request.headers.get("Content-Type") ?? "";
  // Each part costs far more than its few bytes, and all are parsed in one go.
  if (partsIn(bytes, type) > MOST_PARTS) throw badRequest(`A form may have ${MOST_PARTS} parts.`);
  const headers = { "Content-Type": type };
  return new Response(bytes, { headers }).formData().catch(() => {
    throw badRequest("The form is malformed, or was cut short.");
  });
}

function partsIn(bytes: Uint8Array<ArrayBuffer>, type: string): number {
  const boundary = boundaryOf(type);
  if (boundary === null) return 0;
  const [text, mark] = [Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), `--${boundary}`];
  let count = 0;
  for (let at = text.indexOf(mark); at >= 0 && count <= MOST_PARTS; at = text.indexOf(mark, at + mark.length))
    count += 1;
  return count;
}

function boundaryOf(type: string): string | null {
  try {
    return new MIMEType(type).params.get("boundary");
  } catch {
    return null;
  }
}
