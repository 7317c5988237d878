import { own } from "../kit/own.ts";
import { DECLARED, type DeclaredProvider, fieldOf } from "./status.ts";

export { isWordOfWork, type StatusReply } from "./status.ts";

/** Returns the provider in an AI SDK provider name: `fal` for `fal.image`. */
export function providerOf(name: string): string {
  return name.split(".", 1)[0] ?? name;
}

export function declaredOf(provider: string): DeclaredProvider {
  return own(DECLARED, provider) ?? {};
}

/** Returns what can be guaranteed for a request. An idempotency key helps only if the work is polled later. */
export function providerPromise(of: {
  readonly provider: string;
  readonly isFindable: boolean;
}): "keyed" | "found again" | "once" {
  if (!of.isFindable) return "once";
  return declaredOf(of.provider).startKey === undefined ? "found again" : "keyed";
}

export function chargedMicros(provider: string, metadata: unknown): number | null {
  const found = declaredOf(provider).cost?.at.reduce(fieldOf, metadata);
  const usd = typeof found === "string" && /^\d+(\.\d+)?$/.test(found) ? Number(found) : found;
  if (typeof usd !== "number" || !Number.isFinite(usd) || usd < 0) return null;
  // Providers may report fractions of a micro-dollar. They are rounded up, so that a sum is never too small.
  const micros = Math.ceil(Number((usd * 1_000_000).toFixed(3)));
  return Number.isSafeInteger(micros) ? micros : null;
}
