/** What moderation does with a flagged prompt: nothing, refuse the request, or make the job fail. */
export type Flags = "nothing" | "refused" | "fails";

const FLAGGED: ReadonlySet<unknown> = new Set(["a duel", "a storm", "a fight"]);

/** True if moderation flags an input. */
export function flaggedIn(input: unknown): boolean {
  return FLAGGED.has((input as { readonly prompt?: unknown } | null | undefined)?.prompt);
}
