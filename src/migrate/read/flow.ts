import { isRecord, isTooDeep } from "../json-path.ts";
import { type FlowNode, nodesOf } from "./flow-nodes.ts";
import { type ReadBodies, type ReadProblem, type Resolved, readProblem, type V2Source } from "./source.ts";
import { lastName, type Target, targetOf } from "./template.ts";

type Resolve = (from: FlowNode, target: Target) => Resolved;

/**
 * Follows expressions through the flow to the request whose result they name, also via nodes that only poll its status,
 * upload its bytes or pass it on.
 */
export function createResolver(nodes: readonly FlowNode[], indexOf: (node: FlowNode) => number | null): Resolve {
  const byName = new Map<string, FlowNode>();
  for (const node of nodes.toReversed()) for (const name of [...node.ids, node.name]) byName.set(name, node);

  const byGiven = new Map<string, FlowNode>();
  for (const node of nodes.toReversed()) for (const name of node.gives) byGiven.set(name, node);

  const sourceOf = (node: FlowNode, seen: Set<FlowNode>): number | null => {
    if (seen.has(node)) return null;
    seen.add(node);
    const index = indexOf(node);
    if (index !== null) return index;
    if (node.does === "upload" || node.does === "status") {
      const [, expression] = /\{\{([\s\S]*?)\}\}/.exec(node.url) ?? [];
      const found = expression === undefined ? null : follow(node, targetOf(expression.trim()), seen);
      if (found !== null) return found;
    }
    return firstOf(node.before, (name) => {
      const before = byName.get(name);
      return before === undefined ? null : sourceOf(before, seen);
    });
  };

  const follow = (from: FlowNode, target: Target, seen: Set<FlowNode>): number | null => {
    if (target.to === "variable") {
      const giver = byGiven.get(target.name);
      return giver === undefined ? null : sourceOf(giver, seen);
    }
    const names = target.to === "node" ? [target.name] : from.before;
    return firstOf(names, (name) => {
      const node = byName.get(name);
      return node === undefined ? null : sourceOf(node, seen);
    });
  };

  return (from, target) => {
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

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | null): R | null {
  for (const item of items) {
    const found = find(item);
    if (found !== null) return found;
  }
  return null;
}

const NODE_KEYS = ["nodes", "flow", "steps", "actions"];

/** True for an exported automation flow: an object with a list of nodes. */
export function isFlow(value: unknown): value is { readonly [key: string]: unknown } {
  return isRecord(value) && listKey(value) !== null;
}

function listKey(value: { readonly [key: string]: unknown }): string | null {
  const isNodes = (list: unknown) => Array.isArray(list) && list.length > 0 && list.every(isRecord);
  return NODE_KEYS.find((key) => isNodes(value[key])) ?? null;
}

/** The v2 requests of a flow, in node order. Every node is a source, a problem, or reported as left out. */
export function readFlow(flow: { readonly [key: string]: unknown }): Omit<ReadBodies, "locate"> {
  const key = listKey(flow) ?? "nodes";
  const list = flow[key];
  if (isTooDeep(list)) {
    const message = "nests too deeply for a flow";
    return { format: "flow", left: [], sources: [], problems: [readProblem("too-deep", "the flow", [key], message)] };
  }
  const nodes = nodesOf(Array.isArray(list) ? list : [], [key], flow.connections);
  const requests = nodes.filter((node) => node.does === "generate" || node.does === "asset");
  const indexOf = new Map(requests.map((node, index) => [node, index]));
  const resolver = createResolver(nodes, (node) => indexOf.get(node) ?? null);
  const sources = requests.map((node): V2Source => {
    const { name, body, bodyPath } = node;
    const is = node.does === "asset" ? "asset" : "generation";
    const value = is === "asset" && isRecord(body) ? { name, ...body } : body;
    return { at: at(node), value, path: bodyPath, label: name, is, resolve: (target) => resolver(node, target) };
  });
  const problems: ReadProblem[] = nodes.flatMap((node) => (node.problem === null ? [] : [broken(node, node.problem)]));
  if (sources.length === 0 && problems.length === 0) {
    problems.push(readProblem("no-bodies", "the flow", [key], "no node sends a body to POST /generations of v2"));
  }
  const others = nodes.filter((node) => !indexOf.has(node) && node.problem === null);
  return { format: "flow", left: others.map((node) => ({ at: at(node), why: whyLeft(node) })), sources, problems };
}

const at = ({ name }: FlowNode) => `node ${JSON.stringify(name)}`;

function broken(node: FlowNode, message: string): ReadProblem {
  return readProblem("flow-body", at(node), node.bodyPath, message);
}

function whyLeft({ does, isDisabled }: FlowNode): string {
  if (isDisabled) return "is switched off in the flow, so it makes nothing";
  if (does === "upload") return "the pipeline uploads its files by itself";
  if (does === "status") return "a run follows its jobs by itself";
  return "sends nothing to v2 that makes something; what it passes on is followed, or is input of the pipeline";
}
