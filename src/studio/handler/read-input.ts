import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy, type BusboyFileStream } from "@fastify/busboy";
import { own } from "../../core/kit/lookup.ts";
import { ForbiddenAddressError, fetchForInput } from "../../core/network/index.ts";
import {
  type BodyBounds,
  badRequest,
  inputSchema,
  isOfType,
  jsonObject,
  passBytes,
  Refusal,
  readJson,
  tooLarge,
} from "../served/index.ts";
import type { Call, Endpoint } from "./options.ts";

type Body = Readonly<Record<string, unknown>>;

interface ReadInput {
  readonly input: unknown;
  readonly body: Body;
}

const FETCH_MS = 60_000;
const MOST_FILES = 100;
/** Maximum nesting depth of an input. */
const MOST_LEVELS = 40;

class SentFile {
  readonly path: string;
  constructor(path: string) {
    this.path = path;
  }
}

/** Reads the input of a request. The input may contain no paths except those of files in the request. */
export async function readInput(call: Call, { pipeline }: Endpoint): Promise<ReadInput> {
  const isForm = isOfType(call.request, "multipart/form-data");
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

/** Reads an input that was sent as a form. Each file's part is named after its field, such as `shots.0.image`. */
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
      else
        throw badRequest(`${name} is not a known form field; send the input as JSON in the form field "input".`, name);
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

/**
 * Downloads a file that the input refers to by URL. `left` is the number of bytes that the whole request may still use.
 */
async function fetched(call: Call, value: unknown, field: string, left: { bytes: number }): Promise<string> {
  const { mostBytes, options } = call.context;
  const url = webAddress(typeof value === "object" && value !== null ? (value as { path?: unknown }).path : value);
  if (url === null)
    throw badRequest(`${field}: send the file as the form part ${field}, or set the field to an https URL.`, field);
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
    const why = error instanceof ForbiddenAddressError ? "does not resolve to a public address" : "could not be read";
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

/** Returns whether a text looks like a path. Must run in linear time, because the text may be very long. */
function isPath(value: string): boolean {
  const text = value.trim();
  if (text.includes("\0")) return true;
  // `..` is unsafe even in a name with spaces, because the pipeline's code may prepend a folder.
  if (text.length >= 2 && text.split(/[/\\]/).includes("..")) return true;
  return text.length >= 2 && !/\s/.test(text) && PATH.test(text);
}

/** Throws if the value contains a path, because a path could make the pipeline's code read a file on this machine. */
export function refusePaths(value: unknown, field: string, level = 0): void {
  if (level > MOST_LEVELS) throw badRequest("The input is nested too deeply.", field.split(".", 1)[0]!);
  if (typeof value === "string") {
    if (isPath(value))
      throw badRequest(`${field}: file paths are not accepted; send the file or its https URL.`, field);
    return;
  }
  if (value instanceof SentFile || typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    // Checks field names, because they come from the caller as well.
    refusePaths(name, field, level);
    refusePaths(inner, `${field}.${name}`, level + 1);
  }
}

function refuseStray(value: unknown, field: string): void {
  if (value instanceof SentFile) throw badRequest(`${field}: this field does not accept a file.`, field);
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) refuseStray(inner, `${field}.${name}`);
}

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema | boolean;
  readonly prefixItems?: readonly Schema[];
  readonly showrunnerFile?: string;
}

/** Replaces each value that the schema declares as a file with the result of `replace`. */
export async function withFiles(
  schema: { readonly [keyword: string]: unknown },
  value: unknown,
  replace: (value: unknown, field: string) => Promise<unknown>,
): Promise<unknown> {
  const root = schema as Schema;
  const map = async (given: unknown, nodes: readonly Schema[], field: string, level: number): Promise<unknown> => {
    const whole = expanded(root, nodes);
    if (given === undefined || level > MOST_LEVELS) return given;
    if (whole.some(({ showrunnerFile }) => showrunnerFile !== undefined)) return replace(given, field);
    if (Array.isArray(given)) {
      const items = given.map((item, index) => map(item, itemSchemas(whole, index), `${field}[${index}]`, level + 1));
      return Promise.all(items);
    }
    if (typeof given !== "object" || given === null) return given;
    const entries = Object.entries(given).map(async ([name, item]) => {
      const at = field === "" ? name : `${field}.${name}`;
      return [name, await map(item, fieldSchemas(whole, name), at, level + 1)] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  };
  return map(value, [root], "", 0);
}

function expanded(root: Schema, nodes: readonly Schema[]): readonly Schema[] {
  const all = new Set(nodes);
  // Iterating over a set also visits nodes that the loop adds.
  for (const node of all) {
    const { $ref, anyOf = [], oneOf = [], allOf = [] } = node;
    const named = $ref?.startsWith("#/$defs/") ? own(root.$defs ?? {}, $ref.slice("#/$defs/".length)) : undefined;
    const others = [
      ...(named === undefined ? [] : [named]),
      ...($ref === "#" ? [root] : []),
      ...anyOf,
      ...oneOf,
      ...allOf,
    ];
    for (const other of others) all.add(other);
  }
  return [...all];
}

function itemSchemas(nodes: readonly Schema[], index: number): readonly Schema[] {
  return nodes.flatMap(({ items, prefixItems }) => prefixItems?.[index] ?? (typeof items === "object" ? items : []));
}

function fieldSchemas(nodes: readonly Schema[], name: string): readonly Schema[] {
  return nodes.flatMap(({ properties = {}, additionalProperties }) => {
    return own(properties, name) ?? (typeof additionalProperties === "object" ? additionalProperties : []);
  });
}

/** Maximum size of a body without files, and of a form field. */
const MOST_JSON_BYTES = 1024 * 1024;
const MOST_PARTS = 120;
const SLICE_BYTES = 64 * 1024;

export function jsonBody({ request, hold }: Pick<Call, "request" | "hold">): Promise<Body> {
  return readJson(request, { ...boundsOf(MOST_JSON_BYTES), onPiece: hold });
}

function boundsOf(mostBytes: number): BodyBounds {
  return { mostBytes, instead: "pass large files by URL" };
}

interface FormReader {
  readonly mostBytes: number;
  onPiece(sizeBytes: number): void;
  onField(name: string, value: string): void;
  onFile(part: string, file: Readable, name: string): Promise<void>;
}

async function readForm(
  { request, hold }: Pick<Call, "request" | "hold">,
  { mostBytes, onPiece, onField, onFile }: FormReader,
): Promise<void> {
  const parser = parserOf(request.headers.get("Content-Type") ?? "");
  const files: Readable[] = [];
  const reading: Promise<void>[] = [];
  let refusal: unknown = null;
  const refuse = (error: unknown) => {
    refusal ??= error;
    parser.destroy(error as Error);
  };
  // Without a listener, a later error would end the process.
  parser.on("error", () => {});
  parser.on("partsLimit", () => refuse(badRequest(`A form can have at most ${MOST_PARTS} parts.`)));
  parser.on("field", (part: string | undefined, value: string, _isNameCut: boolean, isCut: boolean) => {
    try {
      if (isCut) throw tooLarge(boundsOf(MOST_JSON_BYTES));
      hold(value.length);
      onField(part ?? "", value);
    } catch (error) {
      refuse(error);
    }
  });
  parser.on("file", (part: string | undefined, file: BusboyFileStream, name: string | undefined) => {
    files.push(file.on("error", () => {}));
    reading.push(onFile(part ?? "", file, name || "file").catch(refuse));
  });
  const body = passBytes(request, { ...boundsOf(mostBytes), onPiece });
  const outcome = await pipeline(body, inSlices, parser).catch((error: unknown) => error);
  // A file that the parser has abandoned would never end by itself.
  if (outcome !== undefined) for (const file of files) file.destroy(outcome as Error);
  await Promise.all(reading);
  if (outcome instanceof Refusal) throw outcome;
  if (refusal !== null && refusal !== outcome) throw refusal;
  if (outcome !== undefined) throw badRequest("The form is malformed or incomplete.");
}

/** Splits large pieces, so that a refusal takes effect before the whole piece is parsed. */
async function* inSlices(pieces: AsyncIterable<Uint8Array>) {
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += SLICE_BYTES) yield piece.subarray(at, at + SLICE_BYTES);
  }
}

function parserOf(type: string): InstanceType<typeof Busboy> {
  try {
    const limits = { parts: MOST_PARTS, fieldSize: MOST_JSON_BYTES, headerPairs: 32 };
    return new Busboy({ headers: { "content-type": type }, limits });
  } catch {
    throw badRequest("The form is malformed or incomplete.");
  }
}
