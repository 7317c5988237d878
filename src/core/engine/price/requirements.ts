import type { LocalFunction } from "../../define/index.ts";
import { ownText } from "../../kit/clean-text.ts";
import type { Problem } from "../../plan/plan.ts";

/**
 * What this machine lacks for the functions of a plan, which would else be found once what they use has been paid. Each
 * requirement is asked once; steps that lack the same are one problem, of the first of them.
 */
export async function missingRequirements(functions: ReadonlyMap<string, LocalFunction>): Promise<readonly Problem[]> {
  const asking = new Map<unknown, Promise<string | null>>();
  const lacking = new Map<string, string[]>();
  for (const [step, code] of functions) {
    if ((code.kind !== "task" && code.kind !== "score") || typeof code.requires !== "function") continue;
    const { requires } = code;
    const answer =
      asking.get(requires) ?? (async () => requires())().catch((error: unknown) => `it cannot be asked: ${error}`);
    asking.set(requires, answer);
    const message = await answer;
    if (message !== null) lacking.set(message, [...(lacking.get(message) ?? []), step]);
  }
  return [...lacking].map(([message, [first, ...others]]) => {
    const more =
      others.length === 0 ? "" : ` (so does ${others.slice(0, 5).join(", ")}${others.length > 5 ? ", …" : ""})`;
    return { code: "missing-requirement", step: first!, field: "requires", message: `${ownText(message)}${more}` };
  });
}
