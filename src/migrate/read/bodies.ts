import { isTooDeep } from "../../core/kit/json-text.ts";
import { isV2Type } from "../v2-types.ts";
import { type FlowNode, nodesOf } from "./flow-nodes.ts";
import {
  collected,
  isRecord,
  type JsonPath,
  type JsonRecord,
  kindOf,
  lastName,
  MAX_DEPTH,
  type ReadBodies,
  type ReadProblem,
  type Resolved,
  readProblem,
  type Target,
  targetOf,
  type V2Source,
} from "./source.ts";

const LIST_KEYS = ["generations", "bodies", "requests", "data", "items", "results"];

export function bodiesOf(value: unknown): ReadBodies {
  if (Array.isArray(value)) return listOf(value, []);
  const record = isRecord(value) ? value : {};
  const nodes = firstList(record, NODE_KEYS, isNodeList);
  if (nodes !== null) return readFlow(nodes, record.connections);
  const bodies = "type" in record ? null : firstList(record, LIST_KEYS, Array.isArray);
  if (bodies === null) return collected("body", [sourceOf(value, "body 1", [])]);
  const left = Object.keys(record).filter((name) => name !== bodies.key);
  const why = "is outside the list of bodies";
  return { ...listOf(bodies.list, [bodies.key]), left: left.map((name) => ({ at: name, why })) };
}

interface KeyedList {
  readonly key: string;
  readonly list: readonly unknown[];
}

function firstList(value: JsonRecord, keys: readonly string[], accepts: (list: unknown) => boolean): KeyedList | null {
  const key = keys.find((name) => accepts(value[name]));
  return key === undefined ? null : { key, list: value[key] as readonly unknown[] };
}

function listOf(values: readonly unknown[], path: JsonPath): ReadBodies {
  if (values.length === 0) {
    const message = "the list is empty; provide at least one v2 body";
    return collected("list", [readProblem("no-bodies", "the document", path, message)]);
  }
  return collected(
    "list",
    values.map((value, index) => sourceOf(value, `body ${index + 1}`, [...path, index])),
  );
}

export function sourceOf(given: unknown, at: string, givenPath: JsonPath): V2Source | ReadProblem {
  const [value, path] = unwrapped(given, givenPath);
  const bad = (code: string, message: string) => readProblem(code, at, path, message);
  if (!isRecord(value)) return bad("not-a-body", `is ${kindOf(value)}, not a v2 body; a body is an object with a type`);
  if (isTooDeep(value, MAX_DEPTH))
    return bad("too-deep", `is nested deeper than ${MAX_DEPTH} levels, so it is not a v2 body`);
  if (!("type" in value) && Array.isArray(value.detail)) {
    return bad("v2-error", "is a v2 error response, not a request body; pass the body that was sent");
  }
  if (isV3(value)) {
    return bad(
      "v3-body",
      "is a v3 request or response, so there is nothing to migrate; you can use the request's input as is in a pipeline",
    );
  }
  const base = { at, value, path, label: null, resolve: null };
  return isAssetRecord(value) ? { ...base, is: "asset" } : { ...base, is: "generation" };
}

function unwrapped(value: unknown, path: JsonPath): readonly [unknown, JsonPath] {
  const isRequest = isRecord(value) && typeof value.url === "string" && isRecord(value.body) && !("type" in value);
  return isRequest ? [value.body, [...path, "body"]] : [value, path];
}

function isV3(value: JsonRecord): boolean {
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

export function isAssetRecord(value: JsonRecord): boolean {
  return (
    typeof value.name === "string" &&
    ASSET_TYPES.some((type) => type === value.type) &&
    Object.keys(value).every((key) => ASSET_FIELDS.includes(key))
  );
}

/**
 * Returns a function that finds the request that produces a value. The function skips nodes that only poll, upload or
 * pass on a value.
 */
function createResolver(nodes: readonly FlowNode[], indexOf: ReadonlyMap<FlowNode, number>) {
  const byName = new Map<string, FlowNode>();
  for (const node of nodes.toReversed()) for (const name of [...node.ids, node.name]) byName.set(name, node);

  const byGiven = new Map<string, FlowNode>();
  for (const node of nodes.toReversed()) for (const name of node.gives) byGiven.set(name, node);

  const sourceOf = (node: FlowNode, seen: Set<FlowNode>): number | null => {
    if (seen.has(node)) return null;
    seen.add(node);
    const index = indexOf.get(node);
    if (index !== undefined) return index;
    if (node.does === "upload" || node.does === "status") {
      const [, expression] = /\{\{([\s\S]*?)\}\}/.exec(node.url) ?? [];
      const found = expression === undefined ? null : follow(node, targetOf(expression.trim()), seen);
      if (found !== null) return found;
    }
    return firstSource(node.before, seen);
  };

  const firstSource = (names: readonly string[], seen: Set<FlowNode>): number | null => {
    for (const name of names) {
      const node = byName.get(name);
      const index = node === undefined ? null : sourceOf(node, seen);
      if (index !== null) return index;
    }
    return null;
  };

  const follow = (from: FlowNode, target: Target, seen: Set<FlowNode>): number | null => {
    if (target.to === "variable") {
      const giver = byGiven.get(target.name);
      return giver === undefined ? null : sourceOf(giver, seen);
    }
    return firstSource(target.to === "node" ? [target.name] : from.before, seen);
  };

  return (from: FlowNode, target: Target): Resolved => {
    // Only ids lead to the request that produced the result; other values come from outside.
    const isId = target.to === "variable" || /(?:^|_)(?:id|asset|url)$/i.test(lastName(target.rest));
    const index = isId ? follow(from, target, new Set([from])) : null;
    return index === null ? { to: "outside", name: outsideName(target) } : { to: "source", index };
  };
}

function outsideName(target: Target): string {
  if (target.to === "variable") return target.name;
  const last = lastName(target.rest);
  const isTelling = last !== "" && !/^(?:id|asset_id|url|json|data|item)$/.test(last);
  return isTelling ? last : target.to === "node" ? target.name : "previous";
}

const NODE_KEYS = ["nodes", "flow", "steps", "actions"];

const isNodeList = (list: unknown) => Array.isArray(list) && list.length > 0 && list.every(isRecord);

function readFlow({ key, list }: KeyedList, connections: unknown): ReadBodies {
  if (isTooDeep(list, MAX_DEPTH)) {
    const message = `is nested deeper than ${MAX_DEPTH} levels`;
    return collected("flow", [readProblem("too-deep", "the flow", [key], message)]);
  }
  const nodes = nodesOf(list, [key], connections);
  const requests = nodes.filter((node) => node.does === "generate" || node.does === "asset");
  const indexOf = new Map(requests.map((node, index) => [node, index]));
  const resolve = createResolver(nodes, indexOf);
  const sources = requests.map((node): V2Source => {
    const { name, body, bodyPath } = node;
    const is = node.does === "asset" ? "asset" : "generation";
    const value = is === "asset" && isRecord(body) ? { name, ...body } : body;
    return { at: at(node), value, path: bodyPath, label: name, is, resolve: (target) => resolve(node, target) };
  });
  const problems: ReadProblem[] = nodes.flatMap((node) => (node.problem === null ? [] : [broken(node, node.problem)]));
  if (sources.length === 0 && problems.length === 0) {
    problems.push(readProblem("no-bodies", "the flow", [key], "no node calls v2's POST /generations endpoint"));
  }
  const others = nodes.filter((node) => !indexOf.has(node) && node.problem === null);
  const left = others.map((node) => ({ at: at(node), why: whyLeft(node) }));
  return collected("flow", [...sources, ...problems], left);
}

const at = ({ name }: FlowNode) => `node ${JSON.stringify(name)}`;

function broken(node: FlowNode, message: string): ReadProblem {
  return readProblem("flow-body", at(node), node.bodyPath, message);
}

function whyLeft({ does, isDisabled }: FlowNode): string {
  if (isDisabled) return "is disabled in the flow, so it generates nothing";
  if (does === "upload") return "the pipeline uploads its files itself";
  if (does === "status") return "a run polls its jobs itself";
  return "sends no generation request to v2; values that it passes to other nodes are traced to their source or become inputs of the pipeline";
}
