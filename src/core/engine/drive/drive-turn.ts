/** One drive of a run by this process: whether it is at work on it now, and what was asked of it meanwhile. */
export class DriveTurn {
  /** Aborting stops it gracefully. */
  readonly stop = new AbortController();
  /** Somebody resumed the run meanwhile: what its inbox holds once it is at rest is still for this drive. */
  isAskedAgain = false;
  /** Ids of stops that were sent before that. */
  readonly outdatedStops: number[] = [];
  #work: PromiseWithResolvers<void> | null = Promise.withResolvers();

  /** Settles when it is at rest; null while it is, as between two tries of a run that lacks funds. */
  get work(): Promise<void> | null {
    return this.#work?.promise ?? null;
  }

  begin(): void {
    this.#work ??= Promise.withResolvers();
  }

  rest(): void {
    this.#work?.resolve();
    this.#work = null;
  }
}
