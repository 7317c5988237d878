import { parseConcurrency } from "./concurrency.ts";

/** Flags that change what a plan is and costs. */
export interface QuoteFlags {
  readonly maxUnquoted?: string;
  readonly profile?: string;
  readonly reuse?: boolean;
  readonly concurrency?: string;
  readonly budget?: string;
}

/** What pricing takes from the flags. */
export function quoteOptions(flags: QuoteFlags) {
  return {
    ...(flags.maxUnquoted !== undefined && { maxUnquoted: flags.maxUnquoted }),
    ...(flags.profile !== undefined && { profile: flags.profile }),
    ...(flags.budget !== undefined && { budget: flags.budget }),
    ...(flags.reuse && { reuse: true }),
    ...(flags.concurrency !== undefined && { concurrency: parseConcurrency(flags.concurrency) }),
  };
}
