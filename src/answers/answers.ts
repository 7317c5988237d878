/**
 * Every way in which one request can end without success, as far as the difference matters. "Envelope" is the service's
 * own error body; without one, somebody between here and the service may have answered.
 */
export const answers = {
  "400": "400 with envelope",
  "400 media": "400 with envelope: an upload handle or an asset in the input is gone",
  "401": "401 with envelope",
  "402": "402 with envelope",
  "403": "403 with envelope",
  "404": "404 with envelope",
  "410": "410 with envelope",
  "422": "422 with envelope",
  "409 retryable": "409 with envelope, retryable",
  "409": "409 with envelope",
  "429": "429 with envelope",
  "4xx retryable": "408, 499 or another 4xx with envelope, retryable",
  "4xx": "408, 499 or another 4xx with envelope",
  "503": "503 with envelope, retryable",
  "5xx": "another 5xx with envelope",
  "3xx": "a redirect",
  "2xx no JSON": "a success whose body is no JSON, such as a login page",
  "2xx other": "a success whose JSON is of another shape",
  "bare 407": "407: a proxy asks for a password",
  "bare 408": "408 without envelope",
  "bare 429": "429 without envelope",
  "bare 4xx": "another 4xx without envelope",
  "bare 511": "511: a network asks for a login",
  "bare 5xx": "5xx without envelope",
  dns: "no answer: the name was not found (DNS)",
  refused: "no answer: the connection was refused",
  network: "no answer: no way to the host",
  tls: "no answer: no TLS connection (certificate, protocol)",
  proxy: "no answer: the proxy made no tunnel",
  "connect timeout": "no answer: no connection in time",
  unsent: "no answer: the connection broke before the request left",
  lost: "no answer: the connection broke after the request left",
  timeout: "no answer in time, after the request left",
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
