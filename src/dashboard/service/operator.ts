import { Refusal } from "../http/route.ts";
import type { LocalView } from "../views/action-wire.ts";

/** The operator's side of a local service, by HTTP: it may run in this process or in another one. */
export interface Operator {
  status(): Promise<LocalView>;
  fund(dollars: number): Promise<void>;
  /** Replaces all faults; an empty list removes them. */
  setFaults(rules: readonly unknown[]): Promise<void>;
}

const TIMEOUT_MS = 5000;
const MOST_ROUTES = 40;

interface Stats {
  readonly jobs_created: number;
  readonly jobs_by_model: Readonly<Record<string, number>>;
  readonly replayed_submits: number;
  readonly charged_micros: number;
  readonly refunded_micros: number;
  readonly requests: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly open_streams: number;
  readonly running_jobs: number;
}

interface Faults {
  readonly rules: readonly ({ readonly kind: string; readonly struck: number } & Readonly<Record<string, unknown>>)[];
}

/** The operator's side behind this base URL; null when there is none, or it is not on this machine. */
export async function findOperator(baseUrl: string): Promise<Operator | null> {
  const { hostname } = new URL(baseUrl);
  if (!/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) return null;
  const operator = new HttpOperator(new URL("/_local/", baseUrl));
  return (await operator.isThere()) ? operator : null;
}

class HttpOperator implements Operator {
  readonly #root: URL;

  constructor(root: URL) {
    this.#root = root;
  }

  async isThere(): Promise<boolean> {
    return this.#ask("GET", "clock").then(
      () => true,
      () => false,
    );
  }

  async status(): Promise<LocalView> {
    const [stats, faults] = (await Promise.all([this.#ask("GET", "stats"), this.#ask("GET", "faults")])) as [
      Stats,
      Faults,
    ];
    return {
      jobs: stats.jobs_created,
      runningJobs: stats.running_jobs,
      byModel: stats.jobs_by_model,
      chargedMicros: stats.charged_micros,
      refundedMicros: stats.refunded_micros,
      replayedSubmits: stats.replayed_submits,
      openStreams: stats.open_streams,
      requests: Object.entries(stats.requests)
        .map(([route, byStatus]) => ({ route, ...countOf(byStatus) }))
        .sort((a, b) => b.count - a.count)
        .slice(0, MOST_ROUTES),
      faults: faults.rules.map(({ kind, struck, matched: _, ...rest }) => ({ kind, struck, text: describe(rest) })),
    };
  }

  async fund(dollars: number): Promise<void> {
    await this.#ask("POST", "wallet", { add: dollars });
  }

  async setFaults(rules: readonly unknown[]): Promise<void> {
    await this.#ask("POST", "faults", { rules });
  }

  async #ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await fetch(new URL(path, this.#root), {
      method,
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const text = await answer.text();
    if (answer.ok) return JSON.parse(text);
    throw new Refusal(answer.status < 500 ? 400 : 502, "LOCAL_SERVICE", messageIn(text));
  }
}

function countOf(byStatus: Readonly<Record<string, number>>): { readonly count: number; readonly failed: number } {
  let count = 0;
  let failed = 0;
  for (const [status, number] of Object.entries(byStatus)) {
    count += number;
    if (Number(status) >= 400) failed += number;
  }
  return { count, failed };
}

function describe(settings: Readonly<Record<string, unknown>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

function messageIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly message?: unknown } };
    if (typeof error?.message === "string") return error.message;
  } catch {
    // No envelope: the sentence below says all there is.
  }
  return "The local service refused this.";
}
