import { Readable } from "node:stream";
import { ForbiddenAddressError, fetchForInput } from "../network/index.ts";
import { badRequest, bodyOfRequest, isOfType, jsonObject, keepFile, Refusal, tooLarge } from "../served/index.ts";
import { inputSchema, withFiles } from "./file-fields.ts";
import type { Context, Endpoint } from "./options.ts";
import { boundsOf, formBody, jsonBody } from "./read-body.ts";

type Body = Readonly<Record<string, unknown>>;

interface ReadInput {
  readonly input: unknown;
  readonly body: Body;
  /** Where the files are that this request sent. */
  readonly sent: ReadonlySet<string>;
}

/** How long a file at a URL may take to come, milliseconds. */
const FETCH_MS = 60_000;
const MOST_FILES = 100;
const MOST_LEVELS = 40;

/** A file of the form, at the place of the input that its part names. */
class SentFile {
  readonly file: File;
  constructor(file: File) {
    this.file = file;
  }
}

/**
 * The body of a quote or start, with its input as the pipeline takes it: files that were sent, and those at URLs, are on this
 * machine by then. A path is no file: callers name nothing of this machine. @throws Refusal
 */
export async function readInput(context: Context, { pipeline }: Endpoint, request: Request): Promise<ReadInput> {
  const isForm = isOfType(bodyOfRequest(request), "multipart/form-data");
  const body = isForm ? await formFields(context, request) : await jsonBody(request);
  const { input = {} } = body;
  refusePaths(input, "input");
  const sent = new Set<string>();
  let files = 0;
  const left = { bytes: context.mostBytes };
  const given = await withFiles(inputSchema(pipeline.input), input, async (value, field) => {
    files += 1;
    if (files > MOST_FILES) throw badRequest(`An input may hold ${MOST_FILES} files.`, field);
    const path = await keptFile(context, value, field, left);
    sent.add(path);
    return path;
  });
  refuseStray(given, "input");
  return { input: given, body, sent };
}

/** `input` as JSON, and one part for each file, named after the field that it is for: `photo`, `shots.0.image`. */
async function formFields({ mostBytes }: Context, request: Request): Promise<Body> {
  const form = await formBody(request, mostBytes);
  const body: Record<string, unknown> = {};
  const files: [string, File][] = [];
  for (const [name, part] of form) {
    if (typeof part !== "string") files.push([name, part]);
    else if (name === "input") body.input = jsonObject(part, "input");
    else if (["budget", "title", "quote", "agree"].includes(name)) body[name] = part;
    else throw badRequest(`${name}: send fields of the input as JSON, in the part input.`, name);
  }
  const input = (body.input ?? {}) as Record<string, unknown>;
  for (const [name, file] of files) place(input, name, new SentFile(file));
  return { ...body, input };
}

function place(input: Record<string, unknown>, name: string, file: SentFile): void {
  const parts = name.split(/[.[\]]+/).filter((part) => part !== "");
  const last = parts.pop();
  const wrong = () => badRequest(`The part ${JSON.stringify(name)} names no place of the input.`, name);
  let at: unknown = input;
  for (const part of parts) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) throw wrong();
    at = (at as Record<string, unknown>)[part];
  }
  if (typeof at !== "object" || at === null || last === undefined || last === "__proto__") throw wrong();
  // A far index would make a list of billions of holes, each of which is looked at.
  if (Array.isArray(at) && !(/^\d{1,6}$/.test(last) && Number(last) < at.length + MOST_FILES)) throw wrong();
  (at as Record<string, unknown>)[last] = file;
}

/** `left`: what all files of the input may still hold. */
async function keptFile(context: Context, value: unknown, field: string, left: { bytes: number }): Promise<string> {
  const { filesDir: folder, mostBytes } = context;
  const kept = (bytes: AsyncIterable<Uint8Array>, name: string) => {
    const tooMuch = () => tooLarge(boundsOf(mostBytes));
    return keepFile(within(bytes, left, tooMuch), { folder, name, mostBytes, tooLarge: tooMuch });
  };
  if (value instanceof SentFile) {
    return (await kept(Readable.fromWeb(value.file.stream() as never), value.file.name || "file")).path;
  }
  const url = webAddress(typeof value === "object" && value !== null ? (value as { path?: unknown }).path : value);
  if (url === null)
    throw badRequest(`${field}: send the file itself, as the part ${field} of a form, or its https URL.`, field);
  try {
    const inside = context.options.inside ?? [];
    const { status, body } = await fetchForInput(url.href, { inside, signal: AbortSignal.timeout(FETCH_MS) });
    if (status !== 200) {
      body.on("error", () => {}).destroy();
      throw badRequest(`${field}: its URL answered ${status}.`, field);
    }
    return (await kept(body, decodedName(url))).path;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const why = error instanceof ForbiddenAddressError ? "leads to no public address" : "could not be read";
    throw badRequest(`${field}: its URL ${why}; send the file itself instead.`, field);
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

/** How a path begins: absolute, of a home, upwards, or with the scheme of files. */
const PATH = /^(?:file:|[/\\]|~[/\\]|[A-Za-z]:[/\\]|\.{1,2}[/\\])/i;

/** A text that is nothing but a path. Each test is linear: texts are as long as a body. */
function isPath(value: string): boolean {
  const text = value.trim();
  if (text.includes("\0")) return true;
  // A step upwards is one also in a name with spaces; code of a pipeline may put a folder before it.
  if (text.length >= 2 && text.split(/[/\\]/).includes("..")) return true;
  return text.length >= 2 && !/\s/.test(text) && PATH.test(text);
}

/** Code of a pipeline may read what an input names, so nothing that looks like a place of this machine comes in. */
export function refusePaths(value: unknown, field: string, level = 0): void {
  if (level > MOST_LEVELS) throw badRequest("This is nested too deeply.", field.split(".", 1)[0]!);
  if (typeof value === "string") {
    if (isPath(value))
      throw badRequest(`${field}: paths are not taken; send the file itself, or its https URL.`, field);
    return;
  }
  if (value instanceof SentFile || typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) refusePaths(inner, `${field}.${name}`, level + 1);
}

function refuseStray(value: unknown, field: string): void {
  if (value instanceof SentFile) throw badRequest(`${field}: this field takes no file.`, field);
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) refuseStray(inner, `${field}.${name}`);
}
