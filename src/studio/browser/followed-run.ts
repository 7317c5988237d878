import type { CallerDocument, CallerEvent, QuoteDocument, StepProgress } from "../../core/view/index.ts";
export interface Link {
  /** Base URL of the handler, without a trailing slash. */
  readonly base: string;
  send(path: string, init?: RequestInit): Promise<Response>;
}

/** Thrown if the server refuses a request. */
export class RequestError extends Error {
  readonly status: number;
  /** Error code, such as `OVER_BUDGET`. */
  readonly code: string;
  /** Name of the invalid field. Null if no field is invalid. */
  readonly field: string | null;
  /** Reference to the entry in the server's log. Null if nothing was logged. */
  readonly reference: string | null;

  /** The quote that the user must agree to before the run can start. Null if the error has a different cause. */
  readonly quote: QuoteDocument | null;

  constructor(
    status: number,
    {
      code = "UNKNOWN",
      message = `The server answered ${status}.`,
      field = null,
      reference = null,
      quote = null,
    }: Partial<Pick<RequestError, "code" | "message" | "field" | "reference" | "quote">>,
  ) {
    super(message);
    this.name = "RequestError";
    this.status = status;
    this.code = code;
    this.field = field;
    this.quote = quote;
    this.reference = reference;
  }
}

/** The state of a run, for display on a page. Each change creates a new object. */
export interface RunSnapshot {
  /** The run. Null until the server's first response. */
  readonly run: CallerDocument | null;
  readonly progress: readonly StepProgress[];
  /** State of the connection. `lost`: the client is reconnecting. `over`: no further changes will arrive. */
  readonly connection: "connecting" | "open" | "lost" | "over";
  /** Why the run cannot be followed. Null if there was no error. */
  readonly error: RequestError | null;
}

/** A decision on a waiting step. */
export interface Decision {
  readonly step: string;
  readonly approve: boolean;
  /** Position of the chosen output among the media shown, starting at 0. */
  readonly pick?: number;
  /** Replacement for the value shown. */
  readonly value?: unknown;
  readonly note?: string;
}

/** A run that a page follows. `subscribe` and `snapshot` fit React's `useSyncExternalStore` and similar stores. */
export interface FollowedRun {
  readonly id: string;
  readonly snapshot: () => RunSnapshot;
  /** Calls `changed` after each change, and `event` for each event of the run. Returns a function that unsubscribes. */
  readonly subscribe: (changed: () => void, event?: (event: CallerEvent) => void) => () => void;
  /**
   * Resolves to the run when it ends or, with `orPaused`, when it pauses.
   * @throws RequestError if the run cannot be followed
   */
  done(options?: { readonly orPaused?: boolean }): Promise<CallerDocument>;
  /** Sends a decision on a waiting step. @throws RequestError */
  decide(decision: Decision): Promise<void>;
  /** Stops the run. The results of jobs that were already submitted are still collected. @throws RequestError */
  stop(): Promise<void>;
}

const FINAL: readonly string[] = ["succeeded", "partial", "failed", "cancelled"];
/** A connection without data for this long is considered dead. The server sends data every 15 seconds. */
const SILENT_MS = 40_000;
const MOST_WAIT_MS = 15_000;

export function followedRun(link: Link, id: string): FollowedRun {
  const path = `/runs/${encodeURIComponent(id)}`;
  const listeners = new Map<() => void, ((event: CallerEvent) => void) | undefined>();
  let now: RunSnapshot = { run: null, progress: [], connection: "connecting", error: null };
  let lastId = "";
  let following: AbortController | null = null;

  const set = (change: Partial<RunSnapshot>) => {
    now = { ...now, ...change };
    for (const changed of [...listeners.keys()]) changed();
  };
  const show = (run: CallerDocument) => {
    if (run.seq >= (now.run?.seq ?? 0)) set({ run });
  };
  const take = ({ type, data, id: seq }: SentEvent) => {
    if (seq !== null) lastId = seq;
    const said = JSON.parse(data);
    if (type === "run") show(placed(link.base, said));
    if (type === "progress") set({ progress: said });
    if (type === "event") for (const event of [...listeners.values()]) event?.(said);
  };

  /** Receives events until the connection ends. Resolves to true if the run has reached a final state. */
  const listen = async (signal: AbortSignal): Promise<boolean> => {
    const silent = new AbortController();
    const either = AbortSignal.any([signal, silent.signal]);
    let timer = setTimeout(() => silent.abort(), SILENT_MS);
    try {
      const headers: Record<string, string> = lastId === "" ? {} : { "Last-Event-ID": lastId };
      const response = await link.send(`${path}/events`, { headers, signal: either, cache: "no-store" });
      if (response.status === 204) {
        if (now.run === null || !FINAL.includes(now.run.status))
          show(placed(link.base, await (await link.send(path)).json()));
        return true;
      }
      set({ connection: "open" });
      const reader = response
        .body!.pipeThrough(new TextDecoderStream() as never)
        .getReader() as ReadableStreamDefaultReader<string>;
      const split = eventReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return now.run !== null && FINAL.includes(now.run.status);
        clearTimeout(timer);
        timer = setTimeout(() => silent.abort(), SILENT_MS);
        for (const event of split(value)) take(event);
      }
    } finally {
      clearTimeout(timer);
    }
  };

  const follow = async (signal: AbortSignal): Promise<void> => {
    for (let failures = 0; !signal.aborted; failures += 1) {
      const before = lastId;
      try {
        if (await listen(signal)) return set({ connection: "over", progress: [] });
      } catch (error) {
        if (signal.aborted) return;
        // The server would also refuse a retry.
        if (error instanceof RequestError && error.status < 500 && error.status !== 429) {
          return set({ connection: "over", error });
        }
      }
      if (signal.aborted) return;
      if (lastId !== before) failures = 0;
      set({ connection: "lost" });
      await pause(Math.min(MOST_WAIT_MS, 500 * 2 ** failures) * (0.5 + Math.random() / 2), signal);
    }
  };

  const subscribe: FollowedRun["subscribe"] = (changed, event) => {
    // The same function may be passed twice; each call is a separate subscription.
    const own = () => changed();
    listeners.set(own, event);
    if (following === null && now.connection !== "over") {
      following = new AbortController();
      void follow(following.signal);
    }
    return () => {
      listeners.delete(own);
      if (listeners.size > 0) return;
      following?.abort();
      following = null;
    };
  };

  const post = async (to: string, body: unknown) => {
    const headers = { "Content-Type": "application/json" };
    const response = await link.send(path + to, { method: "POST", headers, body: JSON.stringify(body) });
    show(placed(link.base, await response.json()));
  };

  return {
    id,
    snapshot: () => now,
    subscribe,
    done: ({ orPaused = false } = {}) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const { run, error, connection } = now;
          const isThere = run !== null && (FINAL.includes(run.status) || (orPaused && run.status === "paused"));
          if (!isThere && connection !== "over") return;
          queueMicrotask(() => leave());
          if (isThere) resolve(run);
          else reject(error ?? new RequestError(404, { message: "The connection ended before the run did." }));
        };
        const leave = subscribe(look);
        look();
      }),
    decide: (decision) => post("/decisions", decision),
    stop: () => post("/stop", {}),
  };
}

/** Makes file URLs absolute, because the server may be on another origin. */
export function placed<T = CallerDocument>(base: string, value: unknown): T {
  if (Array.isArray(value)) return value.map((one) => placed<unknown>(base, one)) as T;
  if (typeof value !== "object" || value === null) return value as T;
  const entries = Object.entries(value).map(([name, inner]) => {
    const isFile = name === "url" && typeof inner === "string" && /^\/[^/].*\bmark=/.test(inner);
    return [name, isFile ? new URL(inner, base).href : placed<unknown>(base, inner)];
  });
  return Object.fromEntries(entries) as T;
}

// Outside browsers, the global object may lack these methods.
const page = globalThis as Partial<Pick<EventTarget, "addEventListener" | "removeEventListener">>;

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(end, ms);
    function end() {
      clearTimeout(timer);
      page.removeEventListener?.("online", end);
      done();
    }
    page.addEventListener?.("online", end);
    signal.addEventListener("abort", end, { once: true });
  });
}

interface SentEvent {
  readonly type: string;
  readonly data: string;
  readonly id: string | null;
}

function eventReader(): (text: string) => readonly SentEvent[] {
  let rest = "";
  return (text) => {
    rest += text;
    const blocks = rest.split("\n\n");
    rest = blocks.pop()!;
    return blocks.flatMap((block) => read(block) ?? []);
  };
}

function read(block: string): SentEvent | null {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const [, name = "", value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value);
  }
  const data = fields.get("data");
  return data === undefined ? null : { type: fields.get("event") ?? "message", data, id: fields.get("id") ?? null };
}
