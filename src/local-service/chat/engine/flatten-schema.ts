import { isRecord, listOf, merged, recordOf, resolvePointer, type SchemaNode, textOf } from "./schema-node.ts";

const LONGEST_CHAIN = 40;

/** The schema asks for more than is sensible. */
export class SchemaTooLarge extends Error {
  override readonly name = "SchemaTooLarge";
}

/** One of several schemas, the `branch`-th of those that are not just null. */
function chosen(options: readonly unknown[], branch: number): SchemaNode {
  const real = options.filter((option) => isRecord(option) && option["type"] !== "null");
  return recordOf(real[branch % Math.max(1, real.length)] ?? options[0]);
}

/** Turns references, combinations and conditions into one plain schema; `branch` says which way to go at each of them. */
export function flattener(root: SchemaNode, branch: number): (node: SchemaNode) => SchemaNode {
  function flat(node: SchemaNode, chain: number): SchemaNode {
    if (chain > LONGEST_CHAIN) throw new SchemaTooLarge("The schema refers to itself without end.");
    const reference = textOf(node["$ref"]);
    if (reference !== null) {
      const { $ref: _reference, ...rest } = node;
      return flat(merged(recordOf(resolvePointer(root, reference)), rest), chain + 1);
    }
    const { allOf, anyOf, oneOf, if: condition, then: consequence, else: otherwise, ...rest } = node;
    let result: SchemaNode = rest;
    for (const part of listOf(allOf)) result = merged(result, flat(recordOf(part), chain + 1));
    if (anyOf !== undefined) result = flat(merged(result, chosen(listOf(anyOf), branch)), chain + 1);
    if (oneOf !== undefined) result = flat(merged(result, chosen(listOf(oneOf), branch)), chain + 1);
    if (condition === undefined) return result;
    const way = branch % 2 === 0 ? merged(recordOf(condition), recordOf(consequence)) : recordOf(otherwise);
    return flat(merged(result, way), chain + 1);
  }

  return (node) => flat(node, 0);
}
