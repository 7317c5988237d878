import { MIMEType } from "node:util";
import { badRequest, Refusal } from "../served/index.ts";

type Body = Readonly<Record<string, unknown>>;

/** Largest body without files, bytes. */
export const MOST_JSON_BYTES = 1024 * 1024;
/** A sender that trickles would hold its request, and the memory for it, for ever; as long as Node's own server waits. */
export const LONGEST_BODY_MS = 5 * 60_000;
/** Of a form: files, the input, and what is said beside it. */
const MOST_PARTS = 120;

/** The JSON object of a request. @throws Refusal 408 when it takes too long, 413 when it is too large, 415 when it is no JSON, 400 when malformed */
export async function jsonBody(request: Request): Promise<Body> {
  if (!isOfType(request, "application/json")) {
    throw new Refusal(415, "CONTENT_TYPE", "Send JSON, as application/json.");
  }
  return jsonObject(new TextDecoder().decode(await bytesOf(request, MOST_JSON_BYTES)), "The body");
}

export function jsonObject(text: string, what: string): Body {
  let body: unknown;
  try {
    body = text === "" ? {} : JSON.parse(text);
  } catch {
    throw badRequest(`${what} is no JSON.`);
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw badRequest(`${what} is no JSON object.`);
  return body as Body;
}

export function isOfType(request: Request, type: string): boolean {
  const given = (request.headers.get("Content-Type") ?? "").split(";", 1)[0]!;
  return given.trim().toLowerCase() === type;
}

/** The parts of a form with files. @throws Refusal 408, 413, 400 */
export async function formBody(request: Request, mostBytes: number): Promise<FormData> {
  const bytes = await bytesOf(request, mostBytes);
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

async function bytesOf(request: Request, most: number): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers.get("Content-Length") ?? 0) > most) throw tooLarge(most);
  const pieces: Uint8Array[] = [];
  let size = 0;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(tooSlow()), LONGEST_BODY_MS);
  try {
    const body = request.body?.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal: deadline.signal });
    for await (const piece of body ?? []) {
      size += piece.length;
      if (size > most) throw tooLarge(most);
      pieces.push(piece);
    }
  } catch (error) {
    // A sender that hangs up is nothing that went wrong here.
    throw error instanceof Refusal ? error : badRequest("The body was cut short.");
  } finally {
    clearTimeout(timer);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

function tooSlow(): Refusal {
  const message = `The body did not arrive within ${LONGEST_BODY_MS / 1000} seconds: send it again, and name large files by a URL.`;
  return new Refusal(408, "BODY_TIMEOUT", message);
}

export function tooLarge(most: number): Refusal {
  return new Refusal(413, "TOO_LARGE", `A request may hold ${most} bytes; name large files by a URL.`);
}
