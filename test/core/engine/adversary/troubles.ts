import fc from "fast-check";
import { type HalfTruth, halfTruthsOf } from "./half-truths.ts";
import type { SimRequest } from "./paid-service.ts";
import { type ProviderLie, providerLiesOf } from "./provider-lies.ts";
import type { SimAnswer } from "./sim-answer.ts";

/** Kinds of requests that can have trouble. */
export const requestKinds = [
  ...(["submit", "estimate", "job", "status", "chat", "upload", "list", "media"] as const),
  // To a provider: what asks for work, what asks for its status, and what fetches it.
  ...(["generate", "operation", "address"] as const),
] as const;
export type RequestKind = (typeof requestKinds)[number];

/** Possible bodies of a false response. */
export const bodies = ["envelope", "other json", "html", "empty"] as const;

/** The trouble of a request. `effect`: true if the service still receives and processes the request. */
export type Trouble =
  | { readonly kind: "unreachable" }
  | { readonly kind: "reset" | "silence" | "half an answer"; readonly effect: boolean }
  | { readonly kind: "late"; readonly ms: number }
  | { readonly kind: "half truth"; readonly says: HalfTruth }
  | { readonly kind: "lie"; readonly says: ProviderLie }
  | {
      readonly kind: "answer";
      readonly effect: boolean;
      readonly status: number;
      readonly body: (typeof bodies)[number];
      readonly code: string;
      readonly retryable: boolean;
      readonly retryAfter: number | null;
    };

const statuses = [
  200, 201, 202, 204, 300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 413,
  415, 421, 422, 425, 426, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 507, 511, 520, 521, 522, 525, 526,
  530, 599,
];
const usual: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHORIZED",
  402: "INSUFFICIENT_BALANCE",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  408: "DEADLINE_EXCEEDED",
  409: "ALREADY_IN_PROGRESS",
  410: "GONE",
  422: "MODERATION_FAILED",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};
const codes = [...new Set(Object.values(usual)), "FAILED_PRECONDITION", "ALREADY_EXISTS", "UNKNOWN", "SOMETHING_NEW"];

const effect = fc.boolean();

const answers = fc
  .record({
    status: fc.constantFrom(...statuses),
    body: fc.constantFrom(...bodies),
    code: fc.option(fc.constantFrom(...codes), { freq: 3, nil: null }),
    retryable: fc.boolean(),
    retryAfter: fc.constantFrom(null, null, 0, 1, 30, 315_360_000),
    effect,
  })
  .map(({ code, ...rest }): Trouble => {
    const said = code ?? usual[rest.status] ?? "UNKNOWN";
    return { kind: "answer", ...rest, code: said };
  });

/** Refusals by providers, usually before any work. */
const refusals = fc
  .record({
    status: fc.constantFrom(429, 422, 410, 401, 402, 500, 503),
    effect: fc.constantFrom(false, false, true),
    code: fc.constantFrom("UNKNOWN", "MODERATION_FAILED"),
  })
  .map((said): Trouble => ({ kind: "answer", body: "other json", retryable: false, retryAfter: null, ...said }));

/** Generates troubles for requests of a kind. */
export const troubleOf = (on: RequestKind | "any"): fc.Arbitrary<Trouble> => {
  if (on === "any") return anyTrouble;
  const untrue: readonly Trouble[] = [
    ...halfTruthsOf(on).map((says) => ({ kind: "half truth", says }) as const),
    ...providerLiesOf(on).map((says) => ({ kind: "lie", says }) as const),
  ];
  if (untrue.length === 0) return anyTrouble;
  const told = fc.constantFrom(...untrue);
  const usualOnes = on === "generate" ? 2 : 0;
  return fc.oneof(
    { weight: 3, arbitrary: anyTrouble },
    { weight: 2, arbitrary: told },
    { weight: usualOnes, arbitrary: refusals },
  );
};

export const anyTrouble: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 6, arbitrary: answers },
  { weight: 1, arbitrary: fc.constant<Trouble>({ kind: "unreachable" }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("reset" as const, "silence" as const, "half an answer" as const),
      effect,
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom(500, 5_000, 90_000).map((ms): Trouble => ({ kind: "late", ms })) },
);

/** Statuses of the service that prove that the first send of a request had no effect. */
const DEFINITE = new Set([400, 401, 402, 403, 404, 410, 422, 429]);
/** Statuses of a provider that prove that a request had no effect. */
const DEFINITE_ELSEWHERE = new Set([...DEFINITE, 405, 413, 415]);

/** True if a trouble proves that a provider did nothing: the request did not arrive, or the provider refused it. */
export function isProviderRefusal(trouble: Trouble): boolean {
  if (trouble.kind === "unreachable") return true;
  return trouble.kind === "answer" && !trouble.effect && DEFINITE_ELSEWHERE.has(trouble.status);
}

/** True if the service answers a chat by "unavailable, try again", which its API defines as "nothing was done". */
export function deniesChat(trouble: Trouble): boolean {
  return trouble.kind === "answer" && trouble.body === "envelope" && trouble.status === 503 && trouble.retryable;
}

export function isDefiniteRefusal(trouble: Trouble): boolean {
  return trouble.kind === "answer" && trouble.body === "envelope" && DEFINITE.has(trouble.status);
}

export function badAnswer(trouble: Trouble & { readonly kind: "answer" }): SimAnswer {
  const retryAfter = trouble.retryAfter === null ? {} : { "retry-after": String(trouble.retryAfter) };
  const moved = trouble.status >= 300 && trouble.status < 400 ? { location: "http://portal.test/login" } : {};
  const headers = { ...retryAfter, ...moved };
  switch (trouble.body) {
    case "empty":
      return { status: trouble.status, headers, body: "" };
    case "html":
      return {
        status: trouble.status,
        headers: { ...headers, "content-type": "text/html" },
        body: "<html>Sign in to the network</html>",
      };
    case "other json":
      return {
        status: trouble.status,
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ message: "no upstream" }),
      };
    case "envelope": {
      const { code, retryable, retryAfter: retry_after } = trouble;
      const billing =
        code === "INSUFFICIENT_BALANCE"
          ? { billing: { balance: "0", required: "1", currency: "USD", funding_url: "https://fund.test" } }
          : {};
      const error = { code, message: `said so (${trouble.status})`, retryable, retry_after, ...billing };
      return {
        status: trouble.status,
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ error, trace_id: null }),
      };
    }
    default:
      return trouble.body satisfies never;
  }
}

export function kindOf({ method, path }: SimRequest): RequestKind {
  if (path.startsWith("/media/")) return "media";
  if (path === "/files") return "upload";
  if (path.startsWith("/chat/")) return "chat";
  if (path.endsWith("/estimate")) return "estimate";
  if (path.endsWith("/status")) return "status";
  if (path === "/jobs" || (path.startsWith("/models/") && path.endsWith("/jobs"))) return "list";
  if (path.startsWith("/jobs/")) return "job";
  return method === "POST" ? "submit" : "list";
}

export function troubleText(trouble: Trouble): string {
  if (trouble.kind === "late") return `late by ${trouble.ms} ms`;
  if (trouble.kind === "unreachable") return "unreachable";
  if (trouble.kind === "half truth") return `half a truth, ${trouble.says}`;
  if (trouble.kind === "lie") return `a lie, ${trouble.says}`;
  const done = trouble.effect ? "after the service did its part" : "before the service had it";
  if (trouble.kind !== "answer") return `${trouble.kind}, ${done}`;
  const more = trouble.body === "envelope" ? ` ${trouble.code}${trouble.retryable ? " retryable" : ""}` : "";
  const wait = trouble.retryAfter === null ? "" : ` retry-after ${trouble.retryAfter}`;
  return `${trouble.status} ${trouble.body}${more}${wait}, ${done}`;
}
