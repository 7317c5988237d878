import type { FlowNode } from "./flow-nodes.ts";
import type { Resolved } from "./source.ts";
import { lastName, type Target, targetOf } from "./template.ts";

type Resolve = (from: FlowNode, target: Target) => Resolved;

/**
 * Follows expressions through the flow: to the request that made what they name, also by way of the nodes that only
 * ask for its status, upload its bytes or pass it on.
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
    // Only what identifies a result leads to the request that made it; other values come from outside.
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
