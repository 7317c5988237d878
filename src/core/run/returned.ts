import type { RunState } from "../journal/state.ts";
import { isReference } from "../plan/index.ts";
import type { Reference, Returned } from "../plan/plan.ts";
import { type ProducedOutput, referenced } from "./resolve.ts";

export interface ReturnedReference {
  readonly name: string;
  readonly isCounted: boolean;
  readonly ref: Reference["$ref"];
}

export function returnedReferences(returns: { readonly [name: string]: Returned }): readonly ReturnedReference[] {
  const found: ReturnedReference[] = [];
  const walk = (name: string, isCounted: boolean, value: Returned) => {
    if (Array.isArray(value)) for (const [at, item] of value.entries()) walk(`${name}-${at + 1}`, true, item);
    else if (isReference(value)) found.push({ name, isCounted, ref: value.$ref });
    else
      for (const [key, item] of Object.entries(value))
        walk(name === "" ? key : `${name}.${key}`, isCounted, item as Returned);
  };
  walk("", false, returns);
  return found;
}

/** A returned output and its name. */
export interface NamedOutput extends ProducedOutput {
  /**
   * The output's name, unique in the run. It is derived from the pipeline's return value, such as `film` or `shots-2`.
   */
  readonly name: string;
}

export interface ReturnedResult extends ReturnedReference {
  readonly outputs: readonly ProducedOutput[];
}

export function returnedResults(state: RunState): readonly ReturnedResult[] {
  return returnedReferences(state.planned.plan.returns).map((returned) => {
    return { ...returned, outputs: returned.ref.as === "value" ? [] : referenced(state, returned.ref) };
  });
}

/** Gives each output a unique name. If several outputs have the same name, one keeps it and the others get a number. */
export function namedOutputs(returned: readonly ReturnedResult[]): readonly NamedOutput[] {
  const requested = returned.flatMap(({ name, isCounted, ref, outputs }) => {
    const isList = ref.output === "all";
    return outputs.map((produced, position) => {
      return { name: isList ? `${name}-${position + 1}` : name, isCounted: isCounted || isList, produced };
    });
  });
  const byClaim = [...requested.filter((claim) => !claim.isCounted), ...requested.filter((claim) => claim.isCounted)];
  const reserved = new Set(requested.map(({ name }) => name));
  const holders = new Map<string, ProducedOutput>();
  const names = new Map<(typeof requested)[number], string>();
  const lastNumbers = new Map<string, number>();
  const nextFree = (name: string): string => {
    let n = lastNumbers.get(name) ?? 1;
    do n += 1;
    while (reserved.has(`${name}-${n}`) || holders.has(`${name}-${n}`));
    lastNumbers.set(name, n);
    return `${name}-${n}`;
  };
  for (const claim of byClaim) {
    const { name, produced } = claim;
    const holder = holders.get(name);
    if (holder !== undefined && isSame(holder, produced)) continue;
    const freeName = holder === undefined ? name : nextFree(name);
    holders.set(freeName, produced);
    names.set(claim, freeName);
  }
  return requested.flatMap((claim) => (names.has(claim) ? [{ name: names.get(claim)!, ...claim.produced }] : []));
}

function isSame(output: ProducedOutput, otherOutput: ProducedOutput): boolean {
  return output.step === otherOutput.step && output.output.index === otherOutput.output.index;
}
