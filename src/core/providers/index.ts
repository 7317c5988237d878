import { own } from "../kit/own.ts";
import { DECLARED, type DeclaredProvider, fieldOf } from "./status.ts";

export { isWordOfWork, type StatusReply } from "./status.ts";

/** Whose a model is by the name that AI SDK gives it: `fal` of `fal.image`. */
export function providerOf(name: string): string {
  return name.split(".", 1)[0] ?? name;
}

export function declaredOf(provider: string): DeclaredProvider {
  return own(DECLARED, provider) ?? {};
}

/**
 * What can be promised of a request. A key counts where work is started and then asked for: nothing else that providers
 * document is made once.
 */
export function providerPromise(of: {
  readonly provider: string;
  readonly isFindable: boolean;
}): "keyed" | "found again" | "once" {
  if (!of.isFindable) return "once";
  return declaredOf(of.provider).startKey === undefined ? "found again" : "keyed";
}

/** What an answer says that was charged, micro-dollars; null where it says nothing, or what can be no amount. */
export function chargedMicros(provider: string, metadata: unknown): number | null {
  const found = declaredOf(provider).cost?.at.reduce(fieldOf, metadata);
  const usd = typeof found === "string" && /^\d+(\.\d+)?$/.test(found) ? Number(found) : found;
  if (typeof usd !== "number" || !Number.isFinite(usd) || usd < 0) return null;
  // Providers say more digits than there are micro-dollars: rounded up, so that no sum of them is too small.
  const micros = Math.ceil(Number((usd * 1_000_000).toFixed(3)));
  return Number.isSafeInteger(micros) ? micros : null;
}
