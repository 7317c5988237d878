import { isIP } from "node:net";
import { Refusal } from "../../served/index.ts";

const WINDOW_MS = 600_000;
const MOST_OF_ONE = 20;
const MOST_OF_ALL = 1000;

/**
 * Counts wrong tokens, by sender and in all. Over either number, the answer to a wrong token no longer says what is wrong with
 * it, until the window is over. A right token is never counted: guesses lock nobody out.
 */
export class Tries {
  readonly #wrong = new Map<string, number>();
  #total = 0;
  #endsAt = 0;

  /** Counts a token that was looked up and is wrong. @throws Refusal 429 */
  wrong(address: string, now: number): void {
    if (now >= this.#endsAt) {
      this.#wrong.clear();
      this.#total = 0;
      this.#endsAt = now + WINDOW_MS;
    }
    const sender = senderOf(address);
    const wrong = this.#wrong.get(sender) ?? 0;
    if (wrong >= MOST_OF_ONE || this.#total >= MOST_OF_ALL) {
      throw new Refusal(429, "TOO_MANY_TRIES", "Too many wrong links were tried. Try again in ten minutes.");
    }
    this.#wrong.set(sender, wrong + 1);
    this.#total += 1;
  }
}

/** Whose address it is: of IPv6 the first 64 bits, because one sender has all addresses of that network. */
export function senderOf(address: string): string {
  const [bare = ""] = address.split("%", 1);
  if (isIP(bare) !== 6) return address;
  // Written out by the parser of URLs: lower case, without leading zeros, an IPv4 address in it as two groups.
  const [head = "", tail] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split("::");
  const [first, last] = [head, tail ?? ""].map((part) => (part === "" ? [] : part.split(":"))) as [string[], string[]];
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  const groups = [...first, ...Array.from({ length: zeros }, () => "0"), ...last];
  // Of IPv4 as ::ffff:a.b.c.d it is the last groups that differ.
  const isMapped = groups.slice(0, 6).join(":") === "0:0:0:0:0:ffff";
  return isMapped ? groups.join(":") : `${groups.slice(0, 4).join(":")}::/64`;
}
