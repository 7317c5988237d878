/** Who answered: the service in its own envelope, somebody without it, or nobody. */
export type AnswerSource = "with envelope" | "without envelope" | "no answer";

interface AnswerText {
  readonly source: AnswerSource;
  readonly text: string;
}

const spoken = (text: string): AnswerText => ({ source: "with envelope", text });
const bare = (text: string): AnswerText => ({ source: "without envelope", text });
const silent = (text: string): AnswerText => ({ source: "no answer", text });

/**
 * Every way in which one request can end without success, as far as the difference matters. "Envelope" is the service's
 * own error body; without one, somebody between here and the service may have answered.
 */
export const answers = {
  "400": spoken("400"),
  "400 media": spoken("400: an upload handle or an asset in the input no longer exists"),
  "401": spoken("401"),
  "402": spoken("402"),
  "403": spoken("403"),
  "404": spoken("404"),
  "410": spoken("410"),
  "422": spoken("422"),
  "409 retryable": spoken("409, retryable"),
  "409": spoken("409"),
  "429": spoken("429"),
  "4xx retryable": spoken("408, another 4xx that is retryable"),
  "4xx": spoken("another 4xx"),
  "503": spoken("503, retryable"),
  "5xx": spoken("another 5xx"),
  "3xx": bare("a redirect"),
  "2xx no JSON": bare("a success that is no JSON, such as a login page"),
  "2xx other": bare("a success of another shape"),
  "bare 407": bare("407 (a proxy wants a password)"),
  "bare 408": bare("408"),
  "bare 429": bare("429"),
  "bare 4xx": bare("another 4xx"),
  "bare 511": bare("511 (a network wants a login)"),
  "bare 5xx": bare("another 5xx"),
  dns: silent("name not found (DNS)"),
  refused: silent("connection refused"),
  network: silent("no way to the host"),
  tls: silent("no TLS connection"),
  proxy: silent("no tunnel through the proxy"),
  "connect timeout": silent("no connection in time"),
  unsent: silent("broken before the request left"),
  lost: silent("broken after the request left"),
  timeout: silent("nothing in time after the request left"),
} as const;

export type Answer = keyof typeof answers;

/** What a run asks of the service. */
export const requestKinds = {
  submit: "submit of a job",
  chat: "chat request",
  upload: "upload of an input",
  estimate: "estimate",
  catalog: "catalog read",
  balance: "balance read",
  follow: "status or result of a job",
  settle: "bill of a job",
  reuse: "earlier job whose result is reused",
  download: "bytes of an output",
} as const;

export type RequestKind = keyof typeof requestKinds;

/** Whether an earlier send of the same key may have made the job already. Requests that pay nothing have no re-sends. */
export type SentBefore = "first send" | "re-send";

/** The five things that an answer can mean. */
export const meanings = {
  definite: "the service's own word on this very request",
  transient: "not done yet, and sent again",
  unknown: "it may have been done: only the same key, or a later read, can tell",
  "not the service's": "somebody else answered, or something that is no v3 answer",
  "refuses the caller": "the service does not take this key",
} as const;

export type Meaning = keyof typeof meanings;

/** Why a run pauses after an answer. */
export type AnswerPause = "funds" | "unanswered" | "unresolved" | "unreachable" | "misdirected" | "credentials";

/** What an answer leads to: for the job (or chat, or output) that the request was for, its hold, its step and its run. */
export interface Verdict {
  readonly meaning: Meaning;
  readonly job: string;
  /** `unchanged`: as it was before the request, also where there was none. */
  readonly hold: "unchanged" | "released" | "unconfirmed";
  readonly step: "goes on" | "failed" | "unresolved";
  /** Null: it goes on. */
  readonly pause: AnswerPause | null;
  /** True: tried again after growing delays; the run pauses only once `giveUpAfterMs` have passed. */
  readonly retried: boolean;
}

const goesOn = { hold: "unchanged", step: "goes on", pause: null, retried: false } as const;
const retried = {
  meaning: "transient",
  hold: "unchanged",
  step: "goes on",
  pause: "unreachable",
  retried: true,
} as const;
const misdirected = { ...retried, meaning: "not the service's", pause: "misdirected" } as const;
const refusesCaller = { ...goesOn, meaning: "refuses the caller", pause: "credentials" } as const;
const resent = "sent again under its key until an acknowledgement comes";
const sameKey = "attempt and key unchanged";

/** Every verdict by its name in the table. */
export const verdicts = {
  // Of a submit.
  refused: { ...goesOn, meaning: "definite", job: "refused: none was created", hold: "released", step: "failed" },
  "media renewed": { ...goesOn, meaning: "definite", job: "sent again under its key, with renewed media" },
  unfunded: { ...goesOn, meaning: "definite", job: `none was created; ${sameKey}`, hold: "released", pause: "funds" },
  "unfunded, open": { ...goesOn, meaning: "unknown", job: `may exist; ${sameKey}`, pause: "funds" },
  "out of scope": { ...refusesCaller, job: `none was created; ${sameKey}`, hold: "released" },
  "caller refused": { ...refusesCaller, job: `may exist; ${sameKey}` },
  limited: { ...retried, job: "none was created; sent again under its key" },
  "not sent": { ...retried, job: `none was created; ${sameKey}, withdrawn when the run pauses`, hold: "released" },
  "not sent, misdirected": {
    ...misdirected,
    job: `none was created; ${sameKey}, withdrawn when the run pauses`,
    hold: "released",
  },
  open: { ...retried, meaning: "unknown", job: `may exist; ${resent}` },
  "open, misdirected": { ...misdirected, job: `may exist; ${resent}` },
  unresolved: {
    ...{ ...goesOn, meaning: "unknown", step: "unresolved", pause: "unresolved" },
    job: "may exist; sent again under its key on every resume, or adopted by a person",
  },
  // Of a chat request, which has no key.
  "chat refused": { ...goesOn, meaning: "definite", job: "failed, at no cost", hold: "released", step: "failed" },
  "chat unfunded": {
    ...{ ...goesOn, meaning: "definite", hold: "released", pause: "funds" },
    job: "failed, at no cost; sent again on resume",
  },
  "chat caller refused": { ...refusesCaller, job: "failed, at no cost; sent again on resume", hold: "released" },
  "chat not sent": { ...retried, job: "failed, at no cost; sent again", hold: "released" },
  "chat waits": {
    ...{ ...retried, hold: "unconfirmed" },
    job: "sent again; where the run pauses first, it may have been charged",
  },
  "chat abandoned": {
    ...{ ...goesOn, meaning: "unknown", hold: "unconfirmed", pause: "unanswered" },
    job: "may have been charged; sent once more, then a person decides",
  },
  "chat misdirected": {
    ...{ ...misdirected, hold: "unconfirmed", retried: false },
    job: "may have been charged; sent again on resume",
  },
  // Of what costs nothing.
  retried: { ...retried, job: "as it was" },
  "retried, misdirected": { ...misdirected, job: "as it was" },
  "key refused": { ...refusesCaller, job: "as it was" },
  "step failed": { ...goesOn, meaning: "definite", job: "none was submitted", step: "failed" },
  "price unfunded": { ...goesOn, meaning: "definite", job: "none was submitted", pause: "funds" },
  "not found": {
    ...{ ...goesOn, meaning: "unknown", step: "unresolved", pause: "unresolved" },
    job: "polled for two minutes, and on every resume; once found, it continues",
  },
  "bill open": { ...goesOn, meaning: "unknown", job: "ended; its bill is polled for two minutes, and on resume" },
  "no copy": { ...goesOn, meaning: "definite", job: "ended; its copy is tried for two minutes, and on resume" },
  "not reused": { ...goesOn, meaning: "definite", job: "the earlier result no longer exists: a new job is submitted" },
} as const satisfies { readonly [name: string]: Verdict };

export type VerdictName = keyof typeof verdicts;
