import type { Readable } from "node:stream";
import { ForbiddenAddressError, fetchForInput } from "../../core/network/index.ts";
import { badRequest, bodyOfRequest, isOfType, jsonObject, Refusal, tooLarge } from "../served/index.ts";
import { inputSchema, withFiles } from "./file-fields.ts";
import type { Call, Endpoint } from "./options.ts";
import { boundsOf, jsonBody, readForm } from "./read-body.ts";

type Body = Readonly<Record<string, unknown>>;

interface ReadInput {
  readonly input: unknown;
  readonly body: Body;
}

const FETCH_MS = 60_000;
const MOST_FILES = 100;
const MOST_LEVELS = 40;

class SentFile {
  readonly path: string;
  constructor(path: string) {
    this.path = path;
  }
}

/** The input may contain no paths except those of files in the request. */
export async function readInput(call: Call, { pipeline }: Endpoint): Promise<ReadInput> {
  const isForm = isOfType(bodyOfRequest(call.request), "multipart/form-data");
  const left = { bytes: call.context.mostBytes };
  const body = isForm ? await formFields(call, left) : await jsonBody(call);
  const { input = {} } = body;
  refusePaths(input, "input");
  let files = 0;
  const given = await withFiles(inputSchema(pipeline.input), input, async (value, field) => {
    files += 1;
    if (files > MOST_FILES) throw badRequest(`An input can have at most ${MOST_FILES} files.`, field);
    return value instanceof SentFile ? value.path : fetched(call, value, field, left);
  });
  refuseStray(given, "input");
  return { input: given, body };
}

/** Each file's part is named after its field, such as `shots.0.image`. */
async function formFields(call: Call, left: { bytes: number }): Promise<Body> {
  const { mostBytes } = call.context;
  const body: Record<string, unknown> = {};
  const files: [string, SentFile][] = [];
  await readForm(call, {
    mostBytes,
    onPiece(sizeBytes) {
      left.bytes -= sizeBytes;
    },
    onField(name, value) {
      if (name === "input") body.input = jsonObject(value, "input");
      else if (["budget", "title", "quote", "agree"].includes(name)) body[name] = value;
      else throw badRequest(`${name}: send the input's fields as JSON in the part "input".`, name);
    },
    async onFile(part, bytes: Readable, name) {
      if (files.push([part, new SentFile("")]) > MOST_FILES)
        throw badRequest(`An input can have at most ${MOST_FILES} files.`, part);
      const at = files.length - 1;
      files[at] = [part, new SentFile(await call.files.keep({ bytes, name, mostBytes, tooLarge: tooMuch(mostBytes) }))];
    },
  });
  const input = (body.input ?? {}) as Record<string, unknown>;
  for (const [name, file] of files) place(input, name, file);
  return { ...body, input };
}

const tooMuch = (mostBytes: number) => () => tooLarge(boundsOf(mostBytes));

function place(input: Record<string, unknown>, name: string, file: SentFile): void {
  const parts = name.split(/[.[\]]+/).filter((part) => part !== "");
  const last = parts.pop();
  const wrong = () => badRequest(`The part ${JSON.stringify(name)} matches no field of the input.`, name);
  let at: unknown = input;
  for (const part of parts) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) throw wrong();
    at = (at as Record<string, unknown>)[part];
  }
  if (typeof at !== "object" || at === null || last === undefined || last === "__proto__") throw wrong();
  // A large index would create billions of holes, each of which would be visited.
  if (Array.isArray(at) && !(/^\d{1,6}$/.test(last) && Number(last) < at.length + MOST_FILES)) throw wrong();
  (at as Record<string, unknown>)[last] = file;
}

/** `left` is the number of bytes that the whole request may still use. */
async function fetched(call: Call, value: unknown, field: string, left: { bytes: number }): Promise<string> {
  const { mostBytes, options } = call.context;
  const url = webAddress(typeof value === "object" && value !== null ? (value as { path?: unknown }).path : value);
  if (url === null) throw badRequest(`${field}: send the file as the form part ${field}, or its https URL.`, field);
  try {
    const inside = options.inside ?? [];
    const { status, body } = await fetchForInput(url.href, { inside, signal: AbortSignal.timeout(FETCH_MS) });
    if (status !== 200) {
      body.on("error", () => {}).destroy();
      throw badRequest(`${field}: the URL returned status ${status}; send the file itself instead.`, field);
    }
    const tooLarge = tooMuch(mostBytes);
    const bytes = within(body, left, tooLarge);
    return await call.files.keep({ bytes, name: decodedName(url), mostBytes, tooLarge });
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const why = error instanceof ForbiddenAddressError ? "does not lead to a public address" : "could not be read";
    throw badRequest(`${field}: the URL ${why}; send the file itself instead.`, field);
  }
}

async function* within(bytes: AsyncIterable<Uint8Array>, left: { bytes: number }, tooMuch: () => Refusal) {
  for await (const piece of bytes) {
    left.bytes -= piece.length;
    if (left.bytes < 0) throw tooMuch();
    yield piece;
  }
}

function webAddress(value: unknown): URL | null {
  if (typeof value !== "string" || !/^https?:\/\//i.test(value) || !URL.canParse(value)) return null;
  return new URL(value);
}

function decodedName({ pathname }: URL): string {
  const last = pathname.slice(pathname.lastIndexOf("/") + 1);
  return /[A-Za-z0-9]/.test(last) && !last.startsWith(".") ? last.replace(/[^\w.-]/g, "_") : "file";
}

/** Matches text that starts like a path: absolute, home, parent folder, or a `file:` URL. */
const PATH = /^(?:file:|[/\\]|~[/\\]|[A-Za-z]:[/\\]|\.{1,2}[/\\])/i;

/** Takes linear time, because the text may be very long. */
function isPath(value: string): boolean {
  const text = value.trim();
  if (text.includes("\0")) return true;
  // `..` is unsafe even in a name with spaces, because the pipeline's code may prepend a folder.
  if (text.length >= 2 && text.split(/[/\\]/).includes("..")) return true;
  return text.length >= 2 && !/\s/.test(text) && PATH.test(text);
}

/** A path could make the pipeline's code read a file of this machine. */
export function refusePaths(value: unknown, field: string, level = 0): void {
  if (level > MOST_LEVELS) throw badRequest("The input is nested too deeply.", field.split(".", 1)[0]!);
  if (typeof value === "string") {
    if (isPath(value))
      throw badRequest(`${field}: file paths are not accepted; send the file or its https URL.`, field);
    return;
  }
  if (value instanceof SentFile || typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    // Field names also come from the caller.
    refusePaths(name, field, level);
    refusePaths(inner, `${field}.${name}`, level + 1);
  }
}

function refuseStray(value: unknown, field: string): void {
  if (value instanceof SentFile) throw badRequest(`${field}: this field does not accept a file.`, field);
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) refuseStray(inner, `${field}.${name}`);
}
