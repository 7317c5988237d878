import { isRecord, isTooDeep, type JsonPath, kindOf, MAX_DEPTH } from "../json-path.ts";
import { isV2Type } from "../v2-types.ts";
import { isFlow, readFlow } from "./flow.ts";
import { type ReadBodies, type ReadProblem, readProblem, type V2Source } from "./source.ts";

/** Keys that may hold an export's list of bodies. */
const LIST_KEYS = ["generations", "bodies", "requests", "data", "items", "results"];

/** The v2 bodies of a parsed document: one body, a list, a response of the v2 list endpoint, or an automation flow. */
export function bodiesOf(value: unknown): Omit<ReadBodies, "locate"> {
  if (Array.isArray(value)) return listOf(value, []);
  if (isFlow(value)) return readFlow(value);
  if (isRecord(value) && !("type" in value)) {
    const key = LIST_KEYS.find((name) => Array.isArray(value[name]));
    const list = key === undefined ? undefined : value[key];
    if (key !== undefined && Array.isArray(list)) {
      const left = Object.keys(value).filter((name) => name !== key);
      return {
        ...listOf(list, [key]),
        left: left.map((name) => ({ at: name, why: "stands beside the list of bodies" })),
      };
    }
  }
  const read = sourceOf(value, "body 1", []);
  return { format: "body", left: [], ...collected([read]) };
}

function listOf(values: readonly unknown[], path: JsonPath): Omit<ReadBodies, "locate"> {
  if (values.length === 0) {
    const message = "the list is empty; give at least one v2 body";
    return {
      format: "list",
      left: [],
      sources: [],
      problems: [readProblem("no-bodies", "the document", path, message)],
    };
  }
  return {
    format: "list",
    left: [],
    ...collected(values.map((value, index) => sourceOf(value, `body ${index + 1}`, [...path, index]))),
  };
}

type Read = V2Source | ReadProblem;

export function collected(all: readonly Read[]): Pick<ReadBodies, "sources" | "problems"> {
  return {
    sources: all.filter((one): one is V2Source => "value" in one),
    problems: all.filter((one): one is ReadProblem => !("value" in one)),
  };
}

/** One element as a body, or why it is not one. */
export function sourceOf(given: unknown, at: string, givenPath: JsonPath): Read {
  const [value, path] = unwrapped(given, givenPath);
  const bad = (code: string, message: string) => readProblem(code, at, path, message);
  if (!isRecord(value)) return bad("not-a-body", `is ${kindOf(value)}, not a v2 body; a body is an object with a type`);
  if (isTooDeep(value)) return bad("too-deep", `nests deeper than ${MAX_DEPTH} levels; no v2 body does`);
  if (!("type" in value) && Array.isArray(value.detail)) {
    return bad("v2-error", "is an error that v2 answered, not a body; give the body that was sent");
  }
  if (isV3(value)) {
    return bad("v3-body", "is a v3 body or answer; there is nothing to migrate, use its input in a pipeline as it is");
  }
  const base = { at, value, path, label: null, resolve: null };
  return isAssetRecord(value) ? { ...base, is: "asset" } : { ...base, is: "generation" };
}

/** A logged request: `{ method, url, body }`. */
function unwrapped(value: unknown, path: JsonPath): readonly [unknown, JsonPath] {
  const isRequest = isRecord(value) && typeof value.url === "string" && isRecord(value.body) && !("type" in value);
  return isRequest ? [value.body, [...path, "body"]] : [value, path];
}

function isV3(value: { readonly [key: string]: unknown }): boolean {
  if (isV2Type(value.type)) return false;
  return isRecord(value.input) || "idempotency_key" in value || "job_id" in value;
}

const ASSET_TYPES = ["image", "audio", "video", "voice"];
const ASSET_FIELDS = [
  "name",
  "type",
  "workspace_id",
  "reserved_asset_id",
  "id",
  "url",
  "upload_url",
  "status",
  "created_at",
];

/** A request or response of POST /assets: a name, a kind of media, and no field of a generation. */
export function isAssetRecord(value: { readonly [key: string]: unknown }): boolean {
  return (
    typeof value.name === "string" &&
    ASSET_TYPES.some((type) => type === value.type) &&
    Object.keys(value).every((key) => ASSET_FIELDS.includes(key))
  );
}
