import type { Pipeline } from "../../index.ts";
import type { ServiceFlags } from "../context.ts";

/** A profile that is for the local service takes it by itself, unless an address was named. */
export function withProfileService<F extends ServiceFlags & { readonly profile?: string }>(
  flags: F,
  { profiles }: Pipeline,
): F {
  const { profile, baseUrl } = flags;
  const isThere = profile !== undefined && Object.hasOwn(profiles, profile);
  const wantsLocal = isThere && profiles[profile]?.service === "local";
  return wantsLocal && baseUrl === undefined ? { ...flags, local: true } : flags;
}
