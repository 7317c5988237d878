import { isRecord } from "./cleaner.ts";
import { type Answered, isModelList } from "./drift.ts";
import { requestLine } from "./recorded-values.ts";

/** Reads of the catalog and estimates: they charge nothing and change nothing. */
const FREE =
  /^(?:GET \/openapi\.json|GET \/models(?:\?.*)?|GET \/models\/[^/?]+(?:\/openapi\.json|\/voices(?:\?.*)?)?|POST \/models\/[^/?]+\/estimate)$/;
/** In an input: media, whose bytes and signed addresses are not kept, and what was taken out. */
const NOT_KEPT = /recorded:|data:|:\/\/|\[redacted\]/;
/** Of a key, of a limit or of a failure that passes: nothing that the API says of itself. */
const PASSING = new Set([401, 403, 429]);

export interface Askable {
  /** The last answer to each request that can be asked again. */
  readonly answers: readonly Answered[];
  /** Estimates that cannot, as what their inputs held is not recorded. */
  readonly notAsked: number;
}

/** Whether an answer with this status stays the same until the API changes. */
export const isSettled = (status: number): boolean => status < 500 && !PASSING.has(status);

/** What of a recording can be asked again for nothing; pages of the list of models are one list. */
export function askableOf(recorded: readonly Answered[]): Askable {
  const last = new Map<string, Answered>();
  const byRequest = new Map<string, Answered>();
  for (const one of recorded.filter(({ request, status }) => isFree(request) && isSettled(status))) {
    byRequest.set(one.request, one);
    if (!isLaterPage(one.request)) last.set(`${one.request}\n${JSON.stringify(one.body ?? null)}`, one);
  }
  const all = [...last.values()];
  const answers = all.filter(({ body }) => !NOT_KEPT.test(JSON.stringify(body ?? null)));
  return { answers: answers.map((one) => joined(one, byRequest)), notAsked: all.length - answers.length };
}

/** The request of the page of models after this one; null after the last, and for what is no list of models. */
export function nextPage({ request, answer }: Answered): string | null {
  if (!isModelList(request) || !isRecord(answer) || typeof answer.next_cursor !== "string") return null;
  const { pathname, searchParams } = new URL(request.slice("GET ".length), "http://base");
  searchParams.set("cursor", answer.next_cursor);
  return requestLine("GET", pathname, searchParams);
}

/** A list with the items of its next page, which says whether there are more. */
export function withPage(list: Answered, page: Answered): Answered {
  if (!isRecord(list.answer) || !isRecord(page.answer)) return list;
  const data = [list.answer.data, page.answer.data].flat();
  return { ...list, answer: { ...list.answer, data, next_cursor: page.answer.next_cursor ?? null } };
}

function joined(first: Answered, byRequest: Map<string, Answered>): Answered {
  const seen = new Set<string>();
  let list = first;
  for (let next = nextPage(list); next !== null && !seen.has(next); next = nextPage(list)) {
    seen.add(next);
    const page = byRequest.get(next);
    if (page === undefined || page.status !== 200) break;
    list = withPage(list, page);
  }
  return list;
}

/** A path such as `/models/%2e%2e/keys` leads elsewhere. */
function isFree(request: string): boolean {
  const [, path = ""] = request.split(" ", 2);
  const plain = path.split("?", 1)[0]!;
  return FREE.test(request) && URL.canParse(path, "http://base") && new URL(path, "http://base").pathname === plain;
}

const isLaterPage = (request: string) => /[?&]cursor=/.test(request);
