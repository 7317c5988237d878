import { isRecord, isTooDeep } from "../json-path.ts";
import { type FlowNode, nodesOf } from "./flow-nodes.ts";
import { createResolver } from "./flow-resolve.ts";
import { type ReadBodies, type ReadProblem, readProblem, type V2Source } from "./source.ts";

const NODE_KEYS = ["nodes", "flow", "steps", "actions"];

/** True for an exported automation flow: an object with a list of nodes. */
export function isFlow(value: unknown): value is { readonly [key: string]: unknown } {
  return isRecord(value) && listKey(value) !== null;
}

function listKey(value: { readonly [key: string]: unknown }): string | null {
  const isNodes = (list: unknown) => Array.isArray(list) && list.length > 0 && list.every(isRecord);
  return NODE_KEYS.find((key) => isNodes(value[key])) ?? null;
}

/** The v2 requests of a flow, in the order of its nodes. Every node is a source, a problem, or said to be left out. */
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
