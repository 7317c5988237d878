/** A decision that waits, in the list of all. */
export interface WaitingView {
  readonly run: string;
  readonly title: string | null;
  readonly pipeline: string;
  /** `key=value` each. */
  readonly tags: readonly string[];
  readonly step: string;
  readonly message: string | null;
  /** How many takes there are to pick from; null where nothing is to be picked. */
  readonly takes: number | null;
  readonly since: number;
}

export interface ReviewQueue {
  readonly items: readonly WaitingView[];
  readonly total: number;
  /** Of all that the search finds, whatever is chosen of them. */
  readonly pipelines: readonly { readonly name: string; readonly count: number }[];
  readonly tags: readonly { readonly name: string; readonly count: number }[];
}
