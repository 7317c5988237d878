import { component, type Described, type Media, type Read, readDocument, type Schema } from "./contract-document.ts";

/*
 * Holds every answer of a service against that service's own /openapi.json. Stricter than a reader may be: a field that the
 * document does not name is a violation, so that nothing goes undescribed.
 */

/** A received response. */
export interface Seen {
  readonly method: string;
  /** Path below `/v3`; a query is ignored. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A POST that the service sent. */
export interface Sent {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
}

export interface Contract {
  /** @throws Error that names the parts of a response that do not match the contract */
  check(seen: Seen): void;
  /** Operations, statuses and webhooks seen so far, as `GET /jobs 200` and `webhook job.failed`. */
  readonly met: ReadonlySet<string>;
  /** All operations, as `GET /jobs`. */
  readonly operations: readonly string[];
  /** All operations, statuses and webhooks in the contract. */
  readonly promised: readonly string[];
  /** Compares a request that the service sent with the webhook of this name. @throws Error */
  checkSent(webhook: string, sent: Sent): void;
}

/** The frames of an event stream, with parsed data if it is JSON. Other lines are ignored. */
function framesOf(text: string): Readonly<Record<string, unknown>>[] {
  return text.split("\n\n").flatMap((part) => {
    const fields = part.split("\n").map((line) => line.split(/: ?(.*)/s).slice(0, 2));
    const known = Object.fromEntries(fields.filter(([name = ""]) => ["event", "id", "data"].includes(name)));
    return "data" in known ? [{ ...known, data: parsed(known["data"]) }] : [];
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function contractFrom({ routes, webhooks, sharedHeaders, validatorOf }: Read): Contract {
  const met = new Set<string>();

  function assertFits(schema: Schema, value: unknown, what: string): void {
    const validate = validatorOf(schema);
    if (validate(value)) return;
    const errors = (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
    throw new Error(`${what} is not as described:\n${errors.join("\n")}\n${JSON.stringify(value)?.slice(0, 1000)}`);
  }

  function assertFrames(text: string, { schema, "x-itemSchema": frameSchema }: Media, what: string): void {
    if (!frameSchema) throw new Error(`${what}: the frames of its stream are not described`);
    for (const frame of framesOf(text)) {
      assertFits(frameSchema, frame, `${what}, frame ${frame["event"] ?? ""}`);
      assertFits(schema, frame["data"], `${what}, data of frame ${frame["event"] ?? ""}`);
    }
  }

  function assertError(
    { headers }: Seen,
    body: { error: Record<string, unknown>; trace_id?: unknown },
    what: string,
  ): void {
    const { error } = body;
    const rules: readonly (readonly [string, boolean])[] = [
      ["trace_id is the X-Trace-Id header", body.trace_id === headers.get("x-trace-id")],
      ["a retryable error has retry_after", error["retryable"] !== true || typeof error["retry_after"] === "number"],
      [
        "retry_after is the Retry-After header",
        String(error["retry_after"] ?? null) === String(headers.get("retry-after")),
      ],
      ["INSUFFICIENT_BALANCE has billing", error["code"] !== "INSUFFICIENT_BALANCE" || error["billing"] !== undefined],
      [
        "a validation error has details",
        error["param"] === undefined || error["code"] !== "INVALID_ARGUMENT" || Array.isArray(error["details"]),
      ],
    ];
    const broken = rules.filter(([, holds]) => !holds).map(([rule]) => rule);
    if (broken.length > 0) throw new Error(`${what}: not so: ${broken.join("; ")}\n${JSON.stringify(body)}`);
  }

  function assertHeaders(described: Described, sent: Headers, what: string): void {
    for (const [name, header] of Object.entries(described.headers ?? {})) {
      const { required, schema } = "$ref" in header ? sharedHeaders[header.$ref.split("/").at(-1) ?? ""]! : header;
      const value = sent.get(name);
      if (value !== null) assertFits(schema, schema["type"] === "integer" ? Number(value) : value, `${what}, ${name}`);
      else if (required) throw new Error(`${what} has no header ${name}`);
    }
  }

  function assertBody(described: Described, seen: Seen, what: string): void {
    const type = (seen.headers.get("content-type") ?? "").split(";")[0] ?? "";
    if (described.content === undefined) {
      if (seen.text !== "") throw new Error(`${what} has a body, though none is described`);
      return;
    }
    const media = described.content[type];
    if (!media) throw new Error(`${what} is ${type}, described are ${Object.keys(described.content).join(", ")}`);
    if (type === "text/event-stream") return assertFrames(seen.text, media, what);
    const body = JSON.parse(seen.text);
    assertFits(media.schema, body, what);
    if (seen.status >= 400) assertError(seen, body, what);
  }

  return {
    met,
    operations: routes.map(({ name }) => name),
    promised: [
      ...routes.flatMap(({ name, operation }) =>
        Object.keys(operation.responses).flatMap((status) => (status === "default" ? [] : [`${name} ${status}`])),
      ),
      ...Object.keys(webhooks).map((name) => `webhook ${name}`),
    ],
    checkSent(name, { headers, body }) {
      const what = `webhook ${name}`;
      const post = webhooks[name]?.post;
      if (!post) throw new Error(`${what} is not described`);
      for (const parameter of post.parameters) {
        const value = headers[parameter.name.toLowerCase()];
        if (value !== undefined) assertFits(parameter.schema, value, `${what}, header ${parameter.name}`);
        else if (parameter.required) throw new Error(`${what} has no header ${parameter.name}`);
      }
      const type = String(headers["content-type"]);
      const media = post.requestBody.content?.[type];
      if (!media) throw new Error(`${what} is ${type}, which is not described`);
      const text = Buffer.from(body).toString("utf8");
      if (type === "application/json") assertFits(media.schema, JSON.parse(text), what);
      if (type === "application/x-ndjson") {
        for (const line of text.trimEnd().split("\n")) assertFits(media.schema, JSON.parse(line), what);
      }
      met.add(what);
    },
    check(seen) {
      const [path = ""] = seen.path.split("?");
      const what = `${seen.method} ${path} ${seen.status}`;
      if (!/^[0-9a-f]{32}$/.test(seen.headers.get("x-trace-id") ?? "")) throw new Error(`${what} has no X-Trace-Id`);
      if (!seen.headers.has("x-request-id")) throw new Error(`${what} has no X-Request-Id`);
      const matching = routes.filter(({ method, pattern }) => method === seen.method && pattern.test(path));
      const [route] = matching;
      if (!route) {
        if (seen.status !== 404) throw new Error(`${what}: no such operation is described`);
        return assertFits(component("ErrorResponse"), JSON.parse(seen.text), what);
      }
      // What only happens on demand, or in a proxy's place, is covered by the default response.
      const isRare = seen.status >= 499 || (seen.headers.get("content-type") ?? "").startsWith("text/html");
      const described =
        route.operation.responses[seen.status] ?? (isRare ? route.operation.responses["default"] : undefined);
      if (!described) throw new Error(`${what}: this status is not described for ${route.name}`);
      assertHeaders(described, seen.headers, what);
      if (!(isRare && (seen.headers.get("content-type") ?? "").startsWith("text/html")))
        assertBody(described, seen, what);
      for (const { name } of matching) met.add(`${name} ${seen.status}`);
    },
  };
}

/** The contract that a service publishes. */
export async function contractOf(baseUrl: string): Promise<Contract> {
  return contractFrom(readDocument(await publishedBy(baseUrl)));
}

let usual: Promise<string> | undefined;

/** The contract of a service without options that change its document. It is read only from the first such service. */
export async function usualContract(baseUrl: string): Promise<Contract> {
  usual ??= publishedBy(baseUrl);
  return contractFrom(readDocument(await usual));
}

async function publishedBy(baseUrl: string): Promise<string> {
  const published = await (await fetch(`${baseUrl}/openapi.json`)).text();
  // The port of each is its own; all else is that of most others.
  return published.replaceAll(new URL(baseUrl).origin, "http://127.0.0.1");
}
