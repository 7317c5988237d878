import { isRecord, type JsonPath } from "./json-path.ts";
import { ANSWER_FIELDS, type Fields, fieldsOf, type Shape, type V2Type } from "./v2-types.ts";

/** Fields with a body's own id, not a reference. */
const OWN_IDS = new Set([
  "workspace_id",
  "agent_thread_id",
  "generation_id",
  "generation_ids",
  "reserved_asset_id",
  "reserved_asset_ids",
  "ai_model_id",
  "model_id",
  ...Object.keys(ANSWER_FIELDS),
]);

export interface UsedId {
  readonly path: JsonPath;
  readonly id: string;
}

/** Every id by which a body references something that exists before it. */
export function usedIds(body: { readonly [key: string]: unknown }, type: V2Type): readonly UsedId[] {
  return inRecord(body, fieldsOf(type), []);
}

function inRecord(value: { readonly [key: string]: unknown }, fields: Fields, path: JsonPath): readonly UsedId[] {
  return Object.entries(fields).flatMap(([name, { shape }]) => {
    const isOurs = !OWN_IDS.has(name) && Object.hasOwn(value, name);
    return isOurs ? inValue(value[name], shape, [...path, name]) : [];
  });
}

function inValue(value: unknown, shape: Shape, path: JsonPath): readonly UsedId[] {
  if (typeof value === "string")
    return shape.is === "id" || shape.is === "ids" || shape.is === "url" ? [{ path, id: value }] : [];
  if (Array.isArray(value)) {
    const item: Shape = shape.is === "list" ? shape.item : { is: "id" };
    const isList = shape.is === "list" || shape.is === "ids";
    return isList ? value.flatMap((one, index) => inValue(one, item, [...path, index])) : [];
  }
  return isRecord(value) && shape.is === "record" ? inRecord(value, shape.fields, path) : [];
}

export interface Edge {
  readonly to: number;
  readonly path: JsonPath;
}

export interface Cycle {
  /** Nodes of the cycle, each referencing the next, the last one the first. */
  readonly nodes: readonly number[];
  /** The field of each that references the next. */
  readonly paths: readonly JsonPath[];
}

/**
 * A topological order close to the given one; nodes in a cycle are omitted and returned separately. Linear in nodes and
 * edges.
 */
export function inOrder(
  count: number,
  edgesOf: (node: number) => readonly Edge[],
): { readonly order: readonly number[]; readonly cycles: readonly Cycle[] } {
  const order: number[] = [];
  const cycles: Cycle[] = [];
  const state = new Uint8Array(count); // 0 new, 1 visited, 2 in a cycle
  const depth = new Int32Array(count).fill(-1);
  for (let root = 0; root < count; root++) {
    if (state[root] === 0) visit(root);
  }
  return { order, cycles };

  /** Iterative depth-first search: a chain of ten thousand bodies must not overflow the stack. */
  function visit(root: number): void {
    const trail: { readonly node: number; readonly edges: readonly Edge[]; next: number }[] = [];
    const enter = (node: number) => {
      state[node] = 1;
      depth[node] = trail.length;
      trail.push({ node, edges: edgesOf(node), next: 0 });
    };
    enter(root);
    for (let top = trail.at(-1); top !== undefined; top = trail.at(-1)) {
      const edge = top.edges[top.next++];
      if (edge === undefined) {
        trail.pop();
        depth[top.node] = -1;
        if (state[top.node] === 1) order.push(top.node);
      } else if (state[edge.to] === 0) enter(edge.to);
      else if ((depth[edge.to] ?? -1) >= 0) {
        const circle = trail.slice(depth[edge.to]);
        for (const { node } of circle) state[node] = 2;
        const paths = circle.map(({ edges, next }) => edges[next - 1]?.path ?? []);
        cycles.push({ nodes: circle.map(({ node }) => node), paths });
      }
    }
  }
}
