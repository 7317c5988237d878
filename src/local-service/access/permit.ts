import type { Access } from "../http/call.ts";
import { refuse } from "../http/refusal.ts";
import type { Principal } from "./principal.ts";

/** @throws Refusal 403 that names what is missing. */
export function permit(principal: Principal, access: Access): void {
  if (access === "public" || access === "credential") return;
  if (access === "key") {
    if (principal.via === "token") throw refuse("PERMISSION_DENIED", "This needs a key; a token does not do.");
    return;
  }
  if (principal.scopes === null || principal.scopes.includes(access)) return;
  throw refuse("PERMISSION_DENIED", `The credential lacks the required scope: ${access}.`);
}
