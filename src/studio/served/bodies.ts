import { createHash, randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { badRequest, cutShort, Refusal } from "./for-callers.ts";
import { essence } from "./http.ts";

/** Time limit for receiving a body. Without it, a slow sender could hold memory indefinitely. */
export const LONGEST_BODY_MS = 5 * 60_000;

type Sent = Pick<Request, "headers" | "body">;

export function declaredBytes({ headers }: Pick<Sent, "headers">): number {
  return Number(headers.get("Content-Length") ?? 0);
}

/** Limits for reading a body. `instead` is advice for a sender whose body is too large. */
export interface BodyBounds {
  readonly mostBytes: number;
  readonly instead: string;
  /** Called with the size of each received chunk. If it throws, reading ends. */
  readonly onPiece?: ((sizeBytes: number) => void) | undefined;
}

/** Reads a whole body. @throws Refusal 408 if the body is too slow, 413 if too large, 400 if cut short */
export async function readBytes(sent: Sent, bounds: BodyBounds): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  for await (const piece of passBytes(sent, bounds)) pieces.push(piece);
  return new Uint8Array(Buffer.concat(pieces));
}

export async function* passBytes(sent: Sent, bounds: BodyBounds): AsyncGenerator<Uint8Array, void, undefined> {
  const { mostBytes, onPiece } = bounds;
  if (declaredBytes(sent) > mostBytes) throw tooLarge(bounds);
  const reader = sent.body?.getReader();
  if (reader === undefined) return checkCame(0, sent);
  let [isOver, isLate] = [false, false];
  // Racing each piece against one long-lived promise would keep all pieces in memory until that promise settles.
  const timer = setTimeout(() => {
    isLate = true;
    reader.cancel().catch(() => {});
  }, LONGEST_BODY_MS);
  try {
    for (let size = 0; ; ) {
      const { done, value } = await reader.read();
      isOver = done;
      if (isLate) throw tooSlow(bounds);
      if (done) return checkCame(size, sent);
      size += value.length;
      if (size > mostBytes) throw tooLarge(bounds);
      onPiece?.(value.length);
      yield value;
    }
  } catch (error) {
    // A sender that disconnects is not a server error.
    throw error instanceof Refusal ? error : cutShort();
  } finally {
    if (!isOver) reader.cancel().catch(() => {});
    clearTimeout(timer);
  }
}

function checkCame(size: number, sent: Sent): void {
  const declared = declaredBytes(sent);
  if (size > 0 || !(declared > 0)) return;
  throw badRequest(
    `None of the ${declared} bytes arrived: a body parser read them first. Mount this server's handler before any body parser.`,
  );
}

export function tooLarge({ mostBytes, instead }: BodyBounds): Refusal {
  return new Refusal(413, "TOO_LARGE", `A request can be at most ${mostBytes} bytes; ${instead}.`);
}

function tooSlow({ instead }: BodyBounds): Refusal {
  const message = `The body did not arrive within ${LONGEST_BODY_MS / 1000} seconds. Send it again, and ${instead}.`;
  return new Refusal(408, "BODY_TIMEOUT", message);
}

type JsonObject = Readonly<Record<string, unknown>>;

export async function readJson(sent: Sent, bounds: BodyBounds): Promise<JsonObject> {
  if (!isOfType(sent, "application/json")) throw new Refusal(415, "CONTENT_TYPE", "Send JSON as application/json.");
  return jsonObject(new TextDecoder().decode(await readBytes(sent, bounds)), "The body");
}

export function jsonObject(text: string, what: string): JsonObject {
  let body: unknown;
  try {
    body = text === "" ? {} : JSON.parse(text);
  } catch {
    throw badRequest(`${what} is not valid JSON.`);
  }
  if (!isRecord(body)) throw badRequest(`${what} is not a JSON object.`);
  return body;
}

export function isRecord(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isOfType({ headers }: Pick<Sent, "headers">, type: string): boolean {
  return essence(headers.get("Content-Type")) === type;
}

export function textField(body: JsonObject, name: string): string {
  const value = optionalText(body, name);
  if (value === undefined) throw badRequest(`${name} is missing.`, name);
  return value;
}

export function optionalText(body: JsonObject, name: string, most = 10_000): string | undefined {
  const value = body[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string" || value.length > most)
    throw badRequest(`${name} must be a string of at most ${most} characters.`, name);
  return value;
}

export function optionalPosition(body: JsonObject, name: string): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw badRequest(`${name} must be a whole number, 0 or greater.`, name);
  return value as number;
}

export function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw badRequest(`${name} must be a whole number, 0 or greater.`, name);
  return Number(text);
}

export function textList(body: JsonObject, name: string): readonly string[] {
  const value = body[name] ?? [];
  if (!Array.isArray(value) || value.length > 10_000 || !value.every((item) => typeof item === "string")) {
    throw badRequest(`${name} must be a list of strings.`, name);
  }
  return value;
}

interface Kept {
  readonly folder: string;
  /** The file name that the sender gave. If it is a path, only its last part is used. */
  readonly name: string;
  readonly mostBytes: number;
  tooLarge(): Refusal;
  makeOwn?(own: string): Promise<unknown>;
}

/**
 * Stores a file and returns its path, which is the same if the file is sent again.
 * @throws Refusal 400, or the result of `tooLarge`
 */
export async function keepFile(
  bytes: AsyncIterable<Uint8Array>,
  { folder, name: given, mostBytes, tooLarge, makeOwn = makeFolder }: Kept,
): Promise<{ readonly path: string; readonly sizeBytes: number }> {
  const name = safeName(given);
  await makeFolder(folder);
  const part = join(folder, `${randomUUID()}.part`);
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const counted = new Transform({
    transform(piece: Uint8Array, _encoding, done) {
      sizeBytes += piece.length;
      hash.update(piece);
      done(sizeBytes > mostBytes ? tooLarge() : null, piece);
    },
  });
  try {
    await pipeline(bytes, counted, createWriteStream(part, { flags: "wx", mode: 0o600 }));
    if (sizeBytes === 0) throw badRequest(`The file ${name} is empty.`);
    const own = join(folder, hash.digest("hex"));
    await makeOwn(own);
    const path = join(own, name);
    await rename(part, path);
    return { path, sizeBytes };
  } finally {
    await rm(part, { force: true });
  }
}

const makeFolder = (path: string) => mkdir(path, { recursive: true, mode: 0o700 });

function safeName(given: string): string {
  const name = basename(given.replaceAll("\\", "/"))
    .replace(/[^\p{L}\p{N}._ -]/gu, "_")
    .slice(-80); // at most 240 bytes; a file name can have 255
  if (!/[\p{L}\p{N}]/u.test(name) || name.startsWith(".")) throw badRequest("`name` must be a file name.", "name");
  return name;
}
