const RESERVED = new Set(
  (
    "input job upload models pipeline file z chat task approve pick expand include asset return returns " +
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends " +
    "false finally for function if implements import in instanceof interface let new null package private protected " +
    "public static super switch this throw true try typeof undefined var void while with yield async of as NaN Infinity"
  ).split(" "),
);

const MOST_LETTERS = 40;

/** Converts text to kebab case. Returns null if it has no Latin letter or digit. */
export function kebab(text: string): string | null {
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  const whole = plain.length <= MOST_LETTERS ? plain : plain.slice(0, MOST_LETTERS + 1).replace(/-[^-]*$/, "");
  return whole.slice(0, MOST_LETTERS) || null;
}

export function camel(name: string): string {
  return name.replace(/-+([a-z0-9])/g, (_, first: string) => first.toUpperCase());
}

/** Makes names unique, and avoids names that TypeScript or the pipeline builder reserves. */
export class Names {
  readonly #used = new Set<string>();
  /** The next suffix to try for each name, so that numbering many equal names takes linear time. */
  readonly #next = new Map<string, number>();

  reserve(base: string): string {
    if (this.#isFree(base)) return this.#use(base);
    for (let count = this.#next.get(base) ?? 2; ; count++) {
      const name = `${base}-${count}`;
      this.#next.set(base, count + 1);
      if (this.#isFree(name)) return this.#use(name);
    }
  }

  #isFree(name: string): boolean {
    return !this.#used.has(camel(name)) && !RESERVED.has(camel(name));
  }

  #use(name: string): string {
    this.#used.add(camel(name));
    return name;
  }
}
