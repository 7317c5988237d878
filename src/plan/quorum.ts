import type { Planning } from "./kinds/kind.ts";
import { usedReferences } from "./kinds/used.ts";
import type { FailurePolicy, Plan, PlanStep, Problem, Reference, Returned } from "./plan.ts";
import { isReference } from "./references.ts";

/** A step cannot wait for more results than it uses. */
export function checkQuorum(step: PlanStep, { report, facts }: Planning): void {
  const policy = "policy" in step ? step.policy.onFailure : undefined;
  if (typeof policy !== "object") return;
  const used = usedReferences(step);
  const isOpen = used.some(({ output, step }) => output === "all" && !Number.isFinite(facts(step)?.outputs ?? 1));
  if (policy.quorum <= used.length || isOpen) return;
  const message = `onFailure asks for ${policy.quorum} results, and it uses ${used.length}; give quorum(n) with n up to that`;
  report("bad-option", "onFailure", message);
}

/** A run cannot succeed by more results than it returns. */
export function checkReturnedQuorum(policy: FailurePolicy, returns: Plan["returns"]): readonly Problem[] {
  if (typeof policy !== "object") return [];
  const returned = referencesIn(returns);
  if (policy.quorum <= returned.length || returned.some(({ output }) => output === "all")) return [];
  const message = `onFailure asks for ${policy.quorum} results, and the pipeline returns ${returned.length}`;
  return [{ code: "bad-option", step: null, field: "onFailure", message }];
}

function referencesIn(value: Returned): readonly Reference["$ref"][] {
  if (isReference(value)) return [value.$ref];
  return Object.values(value).flatMap((one: Returned) => referencesIn(one));
}
