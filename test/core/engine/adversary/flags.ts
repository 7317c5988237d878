/** What moderation does with a prompt that it has something against: refuses the request, or ends what was made of it. */
export type Flags = "nothing" | "refused" | "fails";

const FLAGGED: ReadonlySet<unknown> = new Set(["a duel", "a storm", "a fight"]);

/** Whether moderation has something against an input. */
export function flaggedIn(input: unknown): boolean {
  return FLAGGED.has((input as { readonly prompt?: unknown } | null | undefined)?.prompt);
}
