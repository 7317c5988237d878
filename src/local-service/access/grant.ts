import { refuse } from "../http/refusal.ts";
import type { Principal } from "./principal.ts";
import type { Scope } from "./scopes.ts";

/**
 * The scopes that a key or token made by this principal gets: those asked for, else its own. Null means every scope.
 * @throws Refusal 403 that names what the principal does not have itself
 */
export function granted(principal: Principal, asked: readonly Scope[] | null | undefined): readonly Scope[] | null {
  const own = principal.scopes;
  if (asked === null || asked === undefined) return own;
  const beyond = own === null ? [] : asked.filter((scope) => !own.includes(scope));
  if (beyond.length === 0) return [...new Set(asked)];
  throw refuse("PERMISSION_DENIED", `Your key lacks scopes that you asked for: ${beyond.join(", ")}.`);
}
