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
