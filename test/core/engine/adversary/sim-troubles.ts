import { isDefiniteRefusal, type RequestKind, type Trouble } from "./troubles.ts";

interface Armed {
  readonly on: RequestKind | "any";
  skip: number;
  times: number;
  readonly trouble: Trouble;
}

/** Coming troubles, and what a client can know about requests that had trouble. */
export class SimTroubles {
  armed: Armed[] = [];
  /** Keys that the service itself refused before it made a job for them. */
  readonly refusedKeys = new Set<string>();
  /** Number of definite refusals of requests without a key. */
  refusals = 0;
  /** Number of definite refusals of uploads. Such a refusal refuses the step whose input is uploaded. */
  refusedUploads = 0;
  /** Keys whose jobs may exist, as far as a client can know. */
  readonly #open = new Set<string>();

  next(kind: RequestKind): Trouble | null {
    const found = this.armed.find((one) => (one.on === kind || one.on === "any") && one.skip-- <= 0);
    if (found === undefined) return null;
    if (--found.times <= 0) this.armed = this.armed.filter((one) => one !== found);
    return found.trouble;
  }

  /** The trouble of a request. Even an adversarial service does not refuse a request that it has just accepted. */
  with(kind: RequestKind, key: string | null): Trouble | null {
    const trouble = this.next(kind);
    if (trouble === null) return null;
    if (trouble.kind !== "answer" || trouble.body !== "envelope" || trouble.status >= 500) {
      if (key !== null && trouble.kind !== "unreachable") this.#open.add(key);
      return trouble;
    }
    if (kind !== "submit") this.refusals++;
    if (kind === "upload" && isDefiniteRefusal(trouble)) this.refusedUploads++;
    const isOwnWord = isDefiniteRefusal(trouble) && (kind === "chat" || (key !== null && !this.#open.has(key)));
    if (!isOwnWord) {
      if (key !== null) this.#open.add(key);
      return trouble;
    }
    if (key !== null) this.refusedKeys.add(key);
    return { ...trouble, effect: false };
  }

  /** Records a response of the service itself. */
  answered(key: string | null, status: number): void {
    if (key === null) this.refusals += status === MODERATED ? 1 : 0;
    else if (status >= 400) this.refusedKeys.add(key);
    else this.#open.add(key);
  }
}

const MODERATED = 422;
