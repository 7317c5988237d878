/** Whether there was a response, and whether it had the service's error envelope. */
type AnswerSource = "with envelope" | "without envelope" | "no answer";

interface AnswerText {
  readonly source: AnswerSource;
  readonly text: string;
}

const envelope = (text: string): AnswerText => ({ source: "with envelope", text });
const noEnvelope = (text: string): AnswerText => ({ source: "without envelope", text });
const noResponse = (text: string): AnswerText => ({ source: "no answer", text });

/** All ways in which a request can fail, each with its source and a description. */
export const answers = {
  "400": envelope("400"),
  "400 media": envelope("400: an upload handle or an asset in the input no longer exists"),
  "401": envelope("401"),
  "402": envelope("402"),
  "402 retryable": envelope("402, retryable: requests in progress have reserved the balance"),
  "403": envelope("403"),
  "404": envelope("404"),
  "410": envelope("410"),
  "422": envelope("422"),
  "409 retryable": envelope("409, retryable"),
  "409": envelope("409"),
  "429": envelope("429"),
  "4xx retryable": envelope("408 or another retryable 4xx"),
  "4xx": envelope("another 4xx"),
  "503": envelope("503, retryable"),
  "5xx": envelope("another 5xx"),
  "3xx": noEnvelope("a redirect"),
  "2xx no JSON": noEnvelope("2xx, but not JSON, such as a login page"),
  "2xx other": noEnvelope("2xx with an unexpected JSON body"),
  "no envelope 407": noEnvelope("407 (a proxy requires a password)"),
  "no envelope 408": noEnvelope("408"),
  "no envelope 429": noEnvelope("429"),
  "no envelope 4xx": noEnvelope("another 4xx"),
  "no envelope 511": noEnvelope("511 (the network requires a login)"),
  "no envelope 5xx": noEnvelope("another 5xx"),
  dns: noResponse("name not found (DNS)"),
  refused: noResponse("connection refused"),
  network: noResponse("host unreachable"),
  tls: noResponse("TLS connection failed"),
  proxy: noResponse("the proxy refused a tunnel"),
  "connect timeout": noResponse("connection timed out"),
  unsent: noResponse("connection lost before the request was sent"),
  lost: noResponse("connection lost after the request was sent"),
  timeout: noResponse("timed out after the request was sent"),
} as const;

export type Answer = keyof typeof answers;

export const requestKinds = {
  submit: "job submit",
  chat: "chat request",
  upload: "input upload",
  estimate: "estimate",
  catalog: "catalog read",
  balance: "balance read",
  follow: "job status or result",
  settle: "job cost",
  reuse: "earlier job whose result is reused",
  download: "output download",
} as const;

export type RequestKind = keyof typeof requestKinds;

/** `re-send` if an earlier request with the same key may have created the job; otherwise `first send`. */
export type SentBefore = "first send" | "re-send";

export const meanings = {
  definite: "the service's response to this request is final",
  transient: "the request had no effect, so it will be sent again",
  unknown: "the request may have taken effect; to find out, send it again with the same key, or read its result later",
  "not the service's": "the response is not from the service, or is not a v3 response",
  "refuses the caller": "the service does not accept this key",
} as const;

type Meaning = keyof typeof meanings;

type AnswerPause = "funds" | "unanswered" | "unresolved" | "unreachable" | "misdirected" | "credentials";

interface Verdict {
  readonly meaning: Meaning;
  readonly job: string;
  /** What happens to the money reserved for the job. */
  readonly hold: "unchanged" | "released" | "unconfirmed";
  readonly step: "continues" | "failed" | "unresolved";
  readonly pause: AnswerPause | null;
  readonly retried: boolean;
}

const unchanged = { hold: "unchanged", step: "continues", pause: null, retried: false } as const;
const retried = {
  meaning: "transient",
  hold: "unchanged",
  step: "continues",
  pause: "unreachable",
  retried: true,
} as const;
const misdirected = { ...retried, meaning: "not the service's", pause: "misdirected" } as const;
const refusesCaller = { ...unchanged, meaning: "refuses the caller", pause: "credentials" } as const;
const again = "the request is sent again with the same key";
const resent = `${again} until it is acknowledged`;
const sameKey = "the next request counts as the same attempt and uses the same key";

const withdrawn = `no job was created; ${again}; if the run pauses, the request is withdrawn`;
const chatFailed = "the request failed at no cost";
const onResume = "it is sent again on resume";
const billOpen = "the job has ended; its cost is checked repeatedly for two minutes, and again on resume";

export const verdicts = {
  // Verdicts on submissions.
  refused: { ...unchanged, meaning: "definite", job: "no job was created", hold: "released", step: "failed" },
  "media renewed": { ...unchanged, meaning: "definite", job: `${again} and new uploads` },
  unfunded: {
    ...unchanged,
    meaning: "definite",
    job: `no job was created; ${sameKey}`,
    hold: "released",
    pause: "funds",
  },
  "unfunded, open": { ...unchanged, meaning: "unknown", job: `the job may exist; ${sameKey}`, pause: "funds" },
  "out of scope": { ...refusesCaller, job: `no job was created; ${sameKey}`, hold: "released" },
  "caller refused": { ...refusesCaller, job: `the job may exist; ${sameKey}` },
  limited: { ...retried, job: `no job was created; ${again}` },
  "not sent": { ...retried, job: withdrawn, hold: "released" },
  "not sent, misdirected": { ...misdirected, job: withdrawn, hold: "released" },
  open: { ...retried, meaning: "unknown", job: `the job may exist; ${resent}` },
  "open, misdirected": { ...misdirected, job: `the job may exist; ${resent}` },
  unresolved: {
    ...unchanged,
    meaning: "unknown",
    step: "unresolved",
    pause: "unresolved",
    job: "the job may exist; every resume sends the request again with the same key, unless someone adopts the job",
  },
  // Verdicts on chat requests, which have no idempotency key.
  "chat refused": { ...unchanged, meaning: "definite", job: chatFailed, hold: "released", step: "failed" },
  "chat unfunded": {
    ...unchanged,
    meaning: "definite",
    hold: "released",
    pause: "funds",
    job: `${chatFailed}; ${onResume}`,
  },
  "chat caller refused": { ...refusesCaller, job: `${chatFailed}; ${onResume}`, hold: "released" },
  "chat not sent": { ...retried, job: `${chatFailed} and is sent again`, hold: "released" },
  "chat waits": {
    ...retried,
    hold: "unconfirmed",
    job: "the request may have been charged; it is sent again, unless the run pauses first",
  },
  "chat abandoned": {
    ...unchanged,
    meaning: "unknown",
    hold: "unconfirmed",
    pause: "unanswered",
    job: "the request may have been charged and is sent once more; if there is still no response, someone must decide how to proceed",
  },
  "chat misdirected": {
    ...misdirected,
    hold: "unconfirmed",
    retried: false,
    job: `the request may have been charged; ${onResume}`,
  },
  // Verdicts on requests that are free of charge.
  retried: { ...retried, job: "unchanged" },
  "retried, misdirected": { ...misdirected, job: "unchanged" },
  "key refused": { ...refusesCaller, job: "unchanged" },
  "step failed": { ...unchanged, meaning: "definite", job: "no job was submitted", step: "failed" },
  "price unfunded": { ...unchanged, meaning: "definite", job: "no job was submitted", pause: "funds" },
  "not found": {
    ...unchanged,
    meaning: "unknown",
    step: "unresolved",
    pause: "unresolved",
    job: "Showrunner looks for the job on the service for two minutes, and again each time the run is resumed; once the job is found, the step continues",
  },
  "bill open": { ...unchanged, meaning: "unknown", job: billOpen },
  "no copy": {
    ...unchanged,
    meaning: "definite",
    job: "the job has ended; the download is retried for two minutes, then the run pauses until it is resumed",
  },
  "not reused": {
    ...unchanged,
    meaning: "definite",
    job: "the earlier result no longer exists: a new job is submitted",
  },
} as const satisfies { readonly [name: string]: Verdict };

export type VerdictName = keyof typeof verdicts;

type Column = { readonly [A in Answer]: VerdictName };
type ByVerdict = { readonly [V in VerdictName]?: readonly Answer[] };
type Listed<T extends ByVerdict> = NonNullable<T[keyof T & VerdictName]>[number];

/** Builds a column of the answer table. The type requires exactly one verdict for every answer. */
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
/** Temporary failures. A retryable 402 means that the balance is currently reserved for other requests. */
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

/**
 * The verdict for each answer to a repeated submission. Even if it is refused, an earlier one may have created a job.
 */
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

/** Verdicts for downloads. The media server's error responses never have an envelope. */
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
