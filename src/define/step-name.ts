import type { Problem } from "../plan/plan.ts";

/** Letters and digits of any language, then also `.`, `_` and `-`. One segment of a path, safe as a file name. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._-]{0,99}$/u;

export function isStepName(name: unknown): name is string {
  return typeof name === "string" && NAME.test(name);
}

export function stepNameProblem(name: unknown): Problem | null {
  if (isStepName(name)) return null;
  const shown = JSON.stringify(name) ?? String(name);
  const message = `${shown} is no step name: use 1 to 100 letters, digits, ".", "_" or "-", beginning with a letter or digit`;
  const better = suggestion(name);
  const hint = better === null ? "" : `; for example ${JSON.stringify(better)}`;
  return { code: "bad-step-name", step: String(name), field: null, message: message + hint };
}

function suggestion(name: unknown): string | null {
  const better = String(name)
    .replace(/[^\p{L}\p{N}\p{M}._-]+/gu, "-")
    .replace(/^[^\p{L}\p{N}]+/u, "")
    .replace(/-+$/, "")
    .slice(0, 100);
  return isStepName(better) ? better : null;
}
