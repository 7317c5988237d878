import { isDefiniteRefusal, type RequestKind, type Trouble } from "./troubles.ts";

interface Armed {
  readonly on: RequestKind | "any";
  skip: number;
  times: number;
  readonly trouble: Trouble;
}

/** What is to go wrong, and what a client can tell of requests with which something did. */
export class SimTroubles {
  armed: Armed[] = [];
  /** Keys that the service refused in its own words when it had made nothing of them. */
  readonly refusedKeys = new Set<string>();
  /** Definite refusals of questions that are not about a key. */
  refusals = 0;
  /** Keys whose jobs may exist, for all that a client can tell. */
  readonly #open = new Set<string>();

  next(kind: RequestKind): Trouble | null {
    const found = this.armed.find((one) => (one.on === kind || one.on === "any") && one.skip-- <= 0);
    if (found === undefined) return null;
    if (--found.times <= 0) this.armed = this.armed.filter((one) => one !== found);
    return found.trouble;
  }

  /** Even an adversary keeps to this: the service does not refuse in its own words what it has just taken. */
  with(kind: RequestKind, key: string | null): Trouble | null {
    const trouble = this.next(kind);
    if (trouble === null) return null;
    if (trouble.kind !== "answer" || trouble.body !== "envelope" || trouble.status >= 500) {
      if (key !== null && trouble.kind !== "unreachable") this.#open.add(key);
      return trouble;
    }
    if (kind !== "submit") this.refusals++;
    const isOwnWord = isDefiniteRefusal(trouble) && (kind === "chat" || (key !== null && !this.#open.has(key)));
    if (!isOwnWord) {
      if (key !== null) this.#open.add(key);
      return trouble;
    }
    if (key !== null) this.refusedKeys.add(key);
    return { ...trouble, effect: false };
  }

  /** The service answered by itself. */
  answered(key: string | null, status: number): void {
    if (key === null) this.refusals += status === MODERATED ? 1 : 0;
    else if (status >= 400) this.refusedKeys.add(key);
    else this.#open.add(key);
  }
}

const MODERATED = 422;
