import { setTimeout as sleep } from "node:timers/promises";
import { overLimit } from "../access/authenticate.ts";
import { type Answer, type Call, type Endpoint, errorAnswer } from "../http/call.ts";
import type { Interceptor } from "../http/kernel.ts";
import { Refusal, refuse, refuseForNow } from "../http/refusal.ts";
import { isRecord } from "../json.ts";
import type { ServiceContext } from "../service-context.ts";
import { type FaultEngine, type FaultSubject, promptOf } from "./engine.ts";
import type { ParsedRule } from "./rules.ts";

const CUT: Answer = { is: "sent", status: 0 };
const HTML = { "Content-Type": "text/html" };
const INJECTED = "This error was injected by a fault rule.";
const PRETENDED_LIMIT = { requests: 60, windowMs: 60_000 };

type ErrorRule = Extract<ParsedRule, { readonly kind: "error" }>;

function cut(call: Call): Answer {
  call.incoming.socket.destroy();
  return CUT;
}

function refusalOf(rule: ErrorRule, now: number): Refusal {
  const seconds = rule.retry_after ?? 1;
  if (rule.code === "RESOURCE_EXHAUSTED") return overLimit(PRETENDED_LIMIT, now + seconds * 1000, now);
  const isRetryable = ["INTERNAL", "UNAVAILABLE", "UNKNOWN", "DEADLINE_EXCEEDED"].includes(rule.code);
  const again = isRetryable ? refuseForNow(rule.code, INJECTED, seconds) : refuse(rule.code, INJECTED);
  return new Refusal(again.body, again.headers, "The request could not be served.");
}

export function faultInterceptor(
  engine: FaultEngine,
  { store, clock, options }: Pick<ServiceContext, "store" | "clock" | "options">,
): Interceptor {
  async function subject(endpoint: Endpoint, call: Call): Promise<FaultSubject> {
    const route = `${endpoint.method} ${endpoint.path}`;
    if (endpoint.path.startsWith("/jobs/{job_id}")) {
      const job = store.jobs.byId(call.param("job_id"));
      return { route, model: job?.model ?? null, prompt: job ? promptOf(JSON.parse(job.input)) : null };
    }
    const model = endpoint.path.startsWith("/models/{model}") ? call.param("model") : null;
    const hasBody = endpoint.path === "/models/{model}" || endpoint.path === "/models/{model}/estimate";
    if (endpoint.method !== "POST" || !hasBody) return { route, model, prompt: null };
    const body = await call.json().catch(() => null);
    return { route, model, prompt: isRecord(body) ? promptOf(body["input"]) : null };
  }

  return {
    async before(endpoint, call) {
      if (!engine.has("delay", "drop", "error")) return null;
      const about = await subject(endpoint, call);
      const delay = engine.strike("delay", about);
      if (delay) await sleep(delay.delay_ms);
      if (engine.strike("drop", about, (rule) => rule.when === "before")) return cut(call);
      const error = engine.strike("error", about);
      if (!error) return null;
      const refusal = refusalOf(error, clock.now());
      const { status = refusal.status } = error;
      return error.envelope
        ? { ...errorAnswer(refusal, call.traceId, options), status }
        : { is: "text", status, body: "<h1>Bad gateway</h1>\n", headers: { ...refusal.headers, ...HTML } };
    },
    async after(endpoint, call, answer) {
      if (!engine.has("drop")) return answer;
      const about = await subject(endpoint, call);
      return engine.strike("drop", about, (rule) => rule.when === "after") ? cut(call) : answer;
    },
  };
}
