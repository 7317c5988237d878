import type { Answer, RequestKind, SentBefore, VerdictName } from "./answers.ts";

type Column = { readonly [A in Answer]: VerdictName };
type ByVerdict = { readonly [V in VerdictName]?: readonly Answer[] };
type Listed<T extends ByVerdict> = NonNullable<T[keyof T & VerdictName]>[number];

/** The type requires exactly one verdict for every answer. */
function column<const T extends ByVerdict>(
  byVerdict: T & ([Exclude<Answer, Listed<T>>] extends [never] ? unknown : { missing: Exclude<Answer, Listed<T>> }),
): Column {
  const cells = Object.entries(byVerdict as ByVerdict).flatMap(([verdict, answers = []]) =>
    answers.map((answer) => [answer, verdict] as const),
  );
  const read = Object.fromEntries(cells) as Column;
  if (Object.keys(read).length !== cells.length) throw new Error("bug: an answer has two verdicts");
  return read;
}

const unwell = ["409 retryable", "409", "4xx retryable", "503", "5xx"] as const;
/** A retryable 402 means that other requests have temporarily reserved the balance. */
const busy = ["402 retryable", ...unwell] as const;
const retryableWithoutEnvelope = ["no envelope 407", "no envelope 408", "no envelope 429", "no envelope 5xx"] as const;
const notTheService = ["3xx", "2xx no JSON", "2xx other", "no envelope 4xx", "no envelope 511"] as const;
const neverLeft = ["dns", "refused", "network", "tls", "proxy", "connect timeout", "unsent"] as const;
const leftUnanswered = ["lost", "timeout"] as const;

const free = column({
  "step failed": ["400", "400 media", "404", "410", "422", "4xx"],
  "key refused": ["401", "403"],
  "price unfunded": ["402"],
  retried: [...busy, "429", ...retryableWithoutEnvelope, ...neverLeft, ...leftUnanswered],
  "retried, misdirected": notTheService,
});

function neverFailsStep(word: VerdictName): Column {
  return { ...free, "400": word, "400 media": word, "402": word, "404": word, "410": word, "422": word, "4xx": word };
}

const firstSubmit = column({
  refused: ["400", "404", "410", "422"],
  "media renewed": ["400 media"],
  "caller refused": ["401"],
  "out of scope": ["403"],
  unfunded: ["402"],
  limited: ["402 retryable", "429"],
  open: [...unwell, "4xx", ...retryableWithoutEnvelope, ...leftUnanswered],
  "open, misdirected": notTheService,
  "not sent": neverLeft,
});

/** A refusal of a repeated submission does not prove that the first one created no job. */
const resubmit = column({
  unresolved: ["400", "404", "410", "422", "409", "4xx"],
  "media renewed": ["400 media"],
  "caller refused": ["401", "403"],
  "unfunded, open": ["402"],
  open: [
    "402 retryable",
    "409 retryable",
    "4xx retryable",
    "429",
    "503",
    "5xx",
    ...retryableWithoutEnvelope,
    ...neverLeft,
    ...leftUnanswered,
  ],
  "open, misdirected": notTheService,
});

const firstUpload = column({
  refused: ["400", "400 media", "404", "410", "422", "4xx"],
  "out of scope": ["401", "403"],
  unfunded: ["402"],
  "not sent": [...busy, "429", ...retryableWithoutEnvelope, ...neverLeft, ...leftUnanswered],
  "not sent, misdirected": notTheService,
});

const chat = column({
  "chat refused": ["400", "400 media", "404", "410", "422"],
  "chat caller refused": ["401", "403"],
  "chat unfunded": ["402"],
  "chat waits": ["503"],
  "chat not sent": ["402 retryable", "429", ...neverLeft],
  "chat abandoned": [
    "409 retryable",
    "409",
    "4xx retryable",
    "4xx",
    "5xx",
    ...retryableWithoutEnvelope,
    ...leftUnanswered,
  ],
  "chat misdirected": notTheService,
});

/** The media server never sends an error envelope, so its refusals are final without one. */
const download: Column = {
  ...neverFailsStep("no copy"),
  "3xx": "no copy",
  "no envelope 4xx": "no copy",
  "no envelope 511": "retried",
};

/** The verdict for each answer to each kind of request. See `docs/guarantees.md`. */
export const answerTable: { readonly [K in RequestKind]: { readonly [S in SentBefore]?: Column } } = {
  submit: { "first send": firstSubmit, "re-send": resubmit },
  chat: { "first send": chat },
  upload: { "first send": firstUpload, "re-send": { ...resubmit, "400 media": "unresolved", "409": "open" } },
  estimate: { "first send": { ...free, "400 media": "media renewed" } },
  catalog: { "first send": free },
  balance: { "first send": neverFailsStep("retried") },
  follow: { "first send": neverFailsStep("not found") },
  settle: { "first send": neverFailsStep("bill open") },
  reuse: { "first send": neverFailsStep("not reused") },
  download: { "first send": download },
};

export function verdictOf(kind: RequestKind, answer: Answer, before: SentBefore = "first send"): VerdictName {
  const column = answerTable[kind][before] ?? answerTable[kind]["first send"];
  return column![answer];
}
