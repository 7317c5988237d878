import type { Answer, RequestKind, SentBefore, VerdictName } from "./answers.ts";

type Column = { readonly [A in Answer]: VerdictName };

/** Answers of one meaning wherever nothing is paid. */
const free = {
  "400": "step failed",
  "400 media": "step failed",
  "401": "key refused",
  "402": "price unfunded",
  "403": "key refused",
  "404": "step failed",
  "410": "step failed",
  "422": "step failed",
  "409 retryable": "retried",
  "409": "retried",
  "429": "retried",
  "4xx retryable": "retried",
  "4xx": "step failed",
  "503": "retried",
  "5xx": "retried",
  "3xx": "retried, misdirected",
  "2xx no JSON": "retried, misdirected",
  "2xx other": "retried, misdirected",
  "bare 407": "retried",
  "bare 408": "retried",
  "bare 429": "retried",
  "bare 4xx": "retried, misdirected",
  "bare 511": "retried, misdirected",
  "bare 5xx": "retried",
  dns: "retried",
  refused: "retried",
  network: "retried",
  tls: "retried",
  proxy: "retried",
  "connect timeout": "retried",
  unsent: "retried",
  lost: "retried",
  timeout: "retried",
} as const satisfies Column;

/** Where even the service's own word on the request fails no step. */
function sparing(word: VerdictName): Column {
  return { ...free, "400": word, "400 media": word, "402": word, "404": word, "410": word, "422": word, "4xx": word };
}

const firstSubmit = {
  "400": "refused",
  "400 media": "media renewed",
  "401": "caller refused",
  "402": "unfunded",
  "403": "out of scope",
  "404": "refused",
  "410": "refused",
  "422": "refused",
  "409 retryable": "open",
  "409": "open",
  "429": "limited",
  "4xx retryable": "open",
  "4xx": "open",
  "503": "open",
  "5xx": "open",
  "3xx": "open, misdirected",
  "2xx no JSON": "open, misdirected",
  "2xx other": "open, misdirected",
  "bare 407": "open",
  "bare 408": "open",
  "bare 429": "open",
  "bare 4xx": "open, misdirected",
  "bare 511": "open, misdirected",
  "bare 5xx": "open",
  dns: "not sent",
  refused: "not sent",
  network: "not sent",
  tls: "not sent",
  proxy: "not sent",
  "connect timeout": "not sent",
  unsent: "not sent",
  lost: "open",
  timeout: "open",
} as const satisfies Column;

/** A job may exist already: no refusal proves that it does not. */
const resubmit = {
  ...firstSubmit,
  "400": "unresolved",
  "402": "unfunded, open",
  "403": "caller refused",
  "404": "unresolved",
  "410": "unresolved",
  "422": "unresolved",
  "409": "unresolved",
  "429": "open",
  "4xx": "unresolved",
  dns: "open",
  refused: "open",
  network: "open",
  tls: "open",
  proxy: "open",
  "connect timeout": "open",
  unsent: "open",
} as const satisfies Column;

/** The submit that needs the upload has not been sent. */
const firstUpload = {
  ...firstSubmit,
  "400 media": "refused",
  "401": "out of scope",
  "409 retryable": "not sent",
  "409": "not sent",
  "429": "not sent",
  "4xx retryable": "not sent",
  "4xx": "refused",
  "503": "not sent",
  "5xx": "not sent",
  "3xx": "not sent, misdirected",
  "2xx no JSON": "not sent, misdirected",
  "2xx other": "not sent, misdirected",
  "bare 407": "not sent",
  "bare 408": "not sent",
  "bare 429": "not sent",
  "bare 4xx": "not sent, misdirected",
  "bare 511": "not sent, misdirected",
  "bare 5xx": "not sent",
  lost: "not sent",
  timeout: "not sent",
} as const satisfies Column;

const chat = {
  "400": "chat refused",
  "400 media": "chat refused",
  "401": "chat caller refused",
  "402": "chat unfunded",
  "403": "chat caller refused",
  "404": "chat refused",
  "410": "chat refused",
  "422": "chat refused",
  "409 retryable": "chat abandoned",
  "409": "chat abandoned",
  "429": "chat not sent",
  "4xx retryable": "chat abandoned",
  "4xx": "chat abandoned",
  "503": "chat waits",
  "5xx": "chat abandoned",
  "3xx": "chat misdirected",
  "2xx no JSON": "chat misdirected",
  "2xx other": "chat misdirected",
  "bare 407": "chat abandoned",
  "bare 408": "chat abandoned",
  "bare 429": "chat abandoned",
  "bare 4xx": "chat misdirected",
  "bare 511": "chat misdirected",
  "bare 5xx": "chat abandoned",
  dns: "chat not sent",
  refused: "chat not sent",
  network: "chat not sent",
  tls: "chat not sent",
  proxy: "chat not sent",
  "connect timeout": "chat not sent",
  unsent: "chat not sent",
  lost: "chat abandoned",
  timeout: "chat abandoned",
} as const satisfies Column;

/** Only the media server's own refusals, which have no envelope, end the wish for a copy; and only until the next resume. */
const download: Column = { ...sparing("no copy"), "bare 4xx": "no copy", "bare 511": "retried" };

/** What every answer to every request means: one verdict for each kind of request, answer, and first send or re-send. */
export const answerTable: { readonly [K in RequestKind]: { readonly [S in SentBefore]?: Column } } = {
  submit: { "first send": firstSubmit, "re-send": resubmit },
  chat: { "first send": chat },
  upload: { "first send": firstUpload, "re-send": { ...resubmit, "400 media": "unresolved", "409": "open" } },
  estimate: { "first send": { ...free, "400 media": "media renewed" } },
  catalog: { "first send": free },
  balance: { "first send": sparing("retried") },
  follow: { "first send": sparing("not found") },
  settle: { "first send": sparing("bill open") },
  reuse: { "first send": sparing("not reused") },
  download: { "first send": download },
};

/** The verdict of one cell. Requests that pay nothing know no re-send. */
export function verdictOf(kind: RequestKind, answer: Answer, before: SentBefore = "first send"): VerdictName {
  const column = answerTable[kind][before] ?? answerTable[kind]["first send"];
  return column![answer];
}
