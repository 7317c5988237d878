import { MalformedResponseError } from "./errors/client-errors.ts";
import type { Page } from "./wire.ts";

/** Which part of a list to read. */
export interface PageQuery {
  /** Items a page, 1 to 100. The service's default is 20. */
  readonly limit?: number | undefined;
  /** From the page before; absent for the first page. */
  readonly cursor?: string | null | undefined;
}

/** Consecutive empty pages after which a list counts as endless. */
const maxEmptyPages = 20;

/** A list of the service: one page at a time, or every item across all pages with `for await`. */
export interface Listing<T> extends AsyncIterable<T> {
  /** The page that the query names, the first one without a cursor. */
  page(): Promise<Page<T>>;
  /** Every page, one after the other. */
  pages(): AsyncIterable<Page<T>>;
}

export function listing<T>(
  read: (cursor: string | null) => Promise<Page<T>>,
  cursor: string | null = null,
): Listing<T> {
  async function* pages(): AsyncGenerator<Page<T>, void> {
    const seen = new Set<string>();
    let empty = 0;
    for (let next = cursor; ; ) {
      const page = await read(next);
      yield page;
      empty = page.data.length === 0 ? empty + 1 : 0;
      if (empty > maxEmptyPages && page.nextCursor !== null) {
        throw new MalformedResponseError("A list", [`${empty} pages in a row are empty, and each names a next one`]);
      }
      next = page.nextCursor;
      // A service that hands out a cursor twice would be listed for ever.
      if (next === null || seen.has(next)) return;
      seen.add(next);
    }
  }
  return {
    page: () => read(cursor),
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.data;
    },
  };
}
