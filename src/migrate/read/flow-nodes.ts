import { parseJson } from "../../core/kit/json-text.ts";
import { isV2Type } from "../v2-types.ts";
import { isRecord, type JsonPath, type JsonRecord } from "./source.ts";

/** Parses JSON that contains templates. A template outside a string becomes a string. */
export function parseTemplatedJson(given: string): { readonly value: unknown } | { readonly problem: string } {
  const text = withoutStringify(given.trim().replace(/^=/, ""));
  const parsed = parseJson(quoted(text));
  if ("value" in parsed) {
    // Some tools store JSON as a string within JSON.
    return typeof parsed.value === "string" && /^\s*[{[]/.test(parsed.value) && !/^\s*\{\{/.test(parsed.value)
      ? parseTemplatedJson(parsed.value)
      : typeof parsed.value === "string"
        ? { problem: "its body is computed by an expression; replace the expression with JSON" }
        : parsed;
  }
  const { line, column, message } = parsed.mistake;
  return { problem: `its body is not valid JSON at line ${line}, column ${column}: ${message}` };
}

function withoutStringify(text: string): string {
  const [, inner] = /^\{\{\s*(?:JSON\.stringify\(\s*)?(\{[\s\S]*\})\s*\)?\s*\}\}$/.exec(text) ?? [];
  return inner ?? text;
}

function quoted(text: string): string {
  let result = "";
  let isInString = false;
  const lastClose = text.lastIndexOf("}}");
  for (let at = 0; at < text.length; at++) {
    const end = at < lastClose && text.startsWith("{{", at) ? text.indexOf("}}", at) : -1;
    if (end > at && isTemplateHere(text, at, isInString)) {
      const template = JSON.stringify(text.slice(at, end + 2));
      result += isInString ? template.slice(1, -1) : template;
      at = end + 1;
      continue;
    }
    const character = text[at] ?? "";
    if (character === "\\" && isInString) {
      result += character + (text[++at] ?? "");
      continue;
    }
    if (character === '"') isInString = !isInString;
    // Automation tools accept a line break inside a string.
    result += isInString && character === "\n" ? "\\n" : character;
  }
  return result;
}

/**
 * Returns whether `{{` at this position starts a template. Outside a string, `{{` before a quoted key starts an object.
 */
function isTemplateHere(text: string, at: number, isInString: boolean): boolean {
  return isInString || !/^\{\{\s*"/.test(text.slice(at, at + 40));
}

export interface FlowNode {
  readonly name: string;
  readonly ids: readonly string[];
  /** What the node's request does, judging by its URL and method. */
  readonly does: "generate" | "asset" | "upload" | "status" | "other";
  readonly url: string;
  readonly body: unknown;
  readonly bodyPath: JsonPath;
  /** Names by which templates such as `{image_asset_id}` refer to the node's results. */
  readonly gives: readonly string[];
  readonly before: readonly string[];
  readonly problem: string | null;
  /** True if the node is disabled: it sends nothing and only passes on its input. */
  readonly isDisabled: boolean;
}

export function nodesOf(list: readonly unknown[], path: JsonPath, connections: unknown): readonly FlowNode[] {
  const before = isRecord(connections) ? inboundOf(connections) : null;
  const names = list.map((node, index) => nameOf(node, index));
  return list.map((node, index) => {
    const name = names[index] ?? `${index + 1}`;
    const record = isRecord(node) ? node : {};
    const previous = before === null ? (names[index - 1] ?? null) : null;
    const ids = [record.id, record.key, record.name].filter(
      (one) => typeof one === "string" || typeof one === "number",
    );
    return {
      name,
      ids: ids.map(String),
      gives: givenNames(record),
      before: before?.get(name) ?? (previous === null ? [] : [previous]),
      isDisabled: isDisabled(record),
      ...(isDisabled(record) ? noRequest([...path, index]) : requestOf(record, [...path, index])),
    };
  });
}

function isDisabled(node: JsonRecord): boolean {
  return node.disabled === true || node.enabled === false;
}

function nameOf(node: unknown, index: number): string {
  const { name, label, title, id, metadata } = isRecord(node) ? node : {};
  const designer = isRecord(metadata) && isRecord(metadata.designer) ? metadata.designer.name : undefined;
  const found = [name, label, title, designer].find((one) => typeof one === "string" && one !== "");
  if (typeof found === "string") return found;
  return typeof id === "string" || typeof id === "number" ? `node ${id}` : `node ${index + 1}`;
}

const GIVES =
  /^(?:save_?as|store_?as|assign_?to|output(?:_?(?:variable|name|key))?|outputs|variable|variables|extract|captures?|sets?)$/i;

/**
 * Finds the names under which a node stores its results, as in `saveAs: "image_asset_id"` or
 * `outputs: { image_asset_id: "$.id" }`.
 */
function givenNames(node: JsonRecord): readonly string[] {
  const holders = [node, ...HOLDERS.flatMap((key) => (isRecord(node[key]) ? [node[key]] : []))];
  return holders.flatMap((holder) =>
    Object.entries(holder).flatMap(([key, value]) => {
      if (!GIVES.test(key)) return [];
      if (typeof value === "string") return [value];
      if (Array.isArray(value))
        return value.flatMap((one) => (typeof one === "string" ? [one] : isRecord(one) ? String(one.name) : []));
      return isRecord(value) ? Object.keys(value) : [];
    }),
  );
}

function inboundOf(connections: JsonRecord): ReadonlyMap<string, readonly string[]> {
  const inbound = new Map<string, string[]>();
  for (const [from, outputs] of Object.entries(connections)) {
    for (const target of targetsIn(outputs)) {
      const list = inbound.get(target) ?? [];
      inbound.set(target, [...list, from]);
    }
  }
  return inbound;
}

function targetsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(targetsIn);
  if (!isRecord(value)) return [];
  return typeof value.node === "string" ? [value.node] : Object.values(value).flatMap(targetsIn);
}

type Request = Pick<FlowNode, "does" | "url" | "body" | "bodyPath" | "problem">;

const noRequest = (bodyPath: JsonPath): Request => ({ does: "other", url: "", body: null, bodyPath, problem: null });

function requestOf(node: JsonRecord, path: JsonPath): Request {
  const none = noRequest(path);
  const [holder, holderPath] = holderOf(node, path);
  if (holder === null) return none;
  // A URL of this API is short, even with templates.
  const url = String(holder.url ?? holder.uri).slice(0, 2000);
  const does = purposeOf(url, holder.method ?? holder.requestMethod ?? node.method);
  if (does !== "generate" && does !== "asset") return { ...none, does, url };
  const found = bodyOf(holder, holderPath);
  if ("problem" in found && does === "asset") return { ...none, does, url, body: {} };
  return { ...none, does, url, ...found, ...("problem" in found && { does: "other" as const }) };
}

const HOLDERS = ["parameters", "mapper", "request", "config", "data", "inputs", "http", "options"];

function holderOf(node: JsonRecord, path: JsonPath): readonly [JsonRecord | null, JsonPath] {
  const hasUrl = (value: JsonRecord) => typeof value.url === "string" || typeof value.uri === "string";
  if (hasUrl(node)) return [node, path];
  for (const key of HOLDERS) {
    const inner = node[key];
    if (isRecord(inner) && hasUrl(inner)) return [inner, [...path, key]];
  }
  return [null, path];
}

/** Determines what a request does. Replaces templates in the URL first, because they may contain slashes. */
function purposeOf(url: string, method: unknown): FlowNode["does"] {
  const plain = url.replace(/\{\{[\s\S]*?\}\}|\$?\{[^}]*\}/g, "x").replace(/[?#].*$/, "");
  const isPost = String(method ?? "POST").toUpperCase() === "POST";
  if (/\/generations\/?$/.test(plain)) return isPost ? "generate" : "other";
  if (/\/generations\/[^/]+/.test(plain)) return "status";
  if (/\/assets\/?$/.test(plain)) return isPost ? "asset" : "other";
  return /\/assets\/[^/]+/.test(plain) ? "upload" : "other";
}

const BODY_KEYS = ["jsonBody", "bodyParametersJson", "body", "rawBody", "data", "json", "payload", "requestBody"];

function bodyOf(
  holder: JsonRecord,
  path: JsonPath,
): { readonly body: unknown; readonly bodyPath: JsonPath } | { readonly problem: string; readonly bodyPath: JsonPath } {
  for (const key of BODY_KEYS) {
    const value = holder[key];
    const bodyPath = [...path, key];
    if (typeof value === "string" && value.trim() !== "") {
      const parsed = parseTemplatedJson(value);
      return "problem" in parsed ? { ...parsed, bodyPath } : { body: parsed.value, bodyPath };
    }
    if (isRecord(value) && !Array.isArray(value.parameters)) return { body: value, bodyPath };
    if (isRecord(value)) return { body: pairsOf(value.parameters), bodyPath };
  }
  const pairs = isRecord(holder.bodyParameters) ? holder.bodyParameters.parameters : holder.bodyParametersUi;
  if (Array.isArray(pairs)) return { body: pairsOf(pairs), bodyPath: [...path, "bodyParameters"] };
  if (isV2Type(holder.type)) return { body: holder, bodyPath: path };
  return { problem: "calls POST /generations, but its body was not found in the node", bodyPath: path };
}

/** Builds a body from name-value pairs. A dot in a name denotes a nested field. */
function pairsOf(pairs: unknown): JsonRecord {
  const body: { [key: string]: unknown } = {};
  for (const pair of Array.isArray(pairs) ? pairs : []) {
    if (!isRecord(pair) || typeof pair.name !== "string") continue;
    const keys = pair.name.split(".");
    const last = keys.pop() ?? "";
    let target = body;
    for (const key of keys) {
      const inner = Object.hasOwn(target, key) ? target[key] : undefined;
      const next: { [key: string]: unknown } = isRecord(inner) ? { ...inner } : {};
      define(target, key, next);
      target = next;
    }
    define(target, last, literalOf(pair.value));
  }
  return body;
}

/** Sets a property, even if its name is `__proto__`. */
function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Evaluates a template that is a single literal, such as `={{ 3 }}`. */
function literalOf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const [, literal] = /^=?\{\{\s*(-?\d+(?:\.\d+)?|true|false|null|"[^"]*")\s*\}\}$/.exec(value) ?? [];
  return literal === undefined ? value.replace(/^=(?!.*\{\{)/s, "") : JSON.parse(literal);
}
