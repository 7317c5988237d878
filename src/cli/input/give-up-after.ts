import { readDuration } from "./duration.ts";

/** How long a service that is away is borne with; empty where nothing was said. */
export function giveUpAfter(text: string | undefined): { readonly giveUpAfterMs?: number } {
  if (text === undefined) return {};
  if (text === "never") return { giveUpAfterMs: Number.POSITIVE_INFINITY };
  return { giveUpAfterMs: readDuration("--give-up-after", text, "10m, 90s or never") };
}
