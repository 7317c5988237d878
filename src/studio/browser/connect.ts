import { type FollowedRun, followedRun, type Link, RequestError } from "./followed-run.ts";
import type { QuoteView, RunLine } from "./wire.ts";

/** Part of `localStorage` and `sessionStorage`. */
interface KeyStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** Options of `connect`. */
export interface ConnectOptions {
  /** Sent with each request, such as `{ Authorization: "Bearer …" }`; a function is asked each time. Default: cookies alone. */
  readonly headers?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>);
  /** Where runs are remembered by their key. Default: `sessionStorage`, which ends with the tab; null: nowhere. */
  readonly storage?: KeyStorage | null;
}

/** Options of `start`. */
export interface StartOptions {
  /** The pipeline's input. A `File` or `Blob` in it is sent along. */
  readonly input: unknown;
  /**
   * The quote that was agreed to, by its id. Without one, and where it is not what the run would be now, the start is refused with
   * the quote to agree to, in {@link RequestError.quote}.
   */
  readonly quote?: string;
  /** What a run of this key that is there may cost at most, a decimal of US dollars: agrees to prices that it paused for. */
  readonly agree?: string;
  /** Yours, such as an order's id: the same key is the same run, however often it is started. Default: made up. */
  readonly key?: string;
  /** The most that the run may cost, a decimal of US dollars. Default: the budget that the server gives you. */
  readonly budget?: string;
  /** What people call the run. */
  readonly title?: string;
}

/** Prices, starts and follows runs of a server with `createHandler`. */
export interface Runs {
  /** The price. Spends nothing. @throws RequestError */
  quote(pipeline: string, input: unknown): Promise<QuoteView>;
  /** Starts a run, and remembers it by its key. @throws RequestError */
  start(pipeline: string, options: StartOptions): Promise<FollowedRun>;
  /** The run that was started with this key in this tab, also before a reload; null where there is none. */
  kept(key: string): Promise<FollowedRun | null>;
  /** Forgets what was started with this key; the run itself continues. */
  forget(key: string): void;
  /** A run by its id. */
  follow(id: string): FollowedRun;
  /** Newest first. @throws RequestError */
  list(query?: { readonly pipeline?: string; readonly limit?: number }): Promise<readonly RunLine[]>;
}

/** What is kept of a start: its run, or until that is known what to send again. */
type Kept = { readonly id: string } | { readonly pipeline: string; readonly body: string };

/** Talks to the handler at this address, such as `/api/films`. */
export function connect(url: string, { headers = {}, storage = ownStorage() }: ConnectOptions = {}): Runs {
  const here = (globalThis as { readonly location?: { readonly href: string } }).location?.href;
  const base = new URL(url, here).href.replace(/\/+$/, "");
  const link: Link = {
    base,
    async send(path, init = {}) {
      const own = typeof headers === "function" ? headers() : headers;
      const response = await fetch(base + path, { ...init, headers: { ...own, ...(init.headers as object) } });
      if (response.ok) return response;
      const { error = {} } = (await response.json().catch(() => ({}))) as { readonly error?: object };
      throw new RequestError(response.status, error);
    },
  };
  const runs = new Map<string, FollowedRun>();
  const follow = (id: string): FollowedRun => {
    const known = runs.get(id) ?? followedRun(link, id);
    runs.set(id, known);
    return known;
  };
  const nameOf = (key: string) => `showrunner ${base} ${key}`;
  const keep = (key: string, kept: Kept) => storage?.setItem(nameOf(key), JSON.stringify(kept));
  const forget = (key: string) => storage?.removeItem(nameOf(key));

  const send = async (pipeline: string, key: string, body: string | FormData): Promise<FollowedRun> => {
    try {
      const response = await link.send(`/${encodeURIComponent(pipeline)}/runs`, {
        method: "POST",
        headers: { "Idempotency-Key": key, ...typeOf(body) },
        body,
      });
      const { id } = (await response.json()) as { readonly id: string };
      keep(key, { id });
      return follow(id);
    } catch (error) {
      // Refused: there is no run. Without an answer there may be one: the same key finds it.
      if (error instanceof RequestError && error.status < 500) forget(key);
      throw error;
    }
  };

  return {
    async quote(pipeline, input) {
      const body = bodyOf({ input });
      const response = await link.send(`/${encodeURIComponent(pipeline)}/quote`, {
        method: "POST",
        headers: typeOf(body),
        body,
      });
      return (await response.json()) as QuoteView;
    },
    start(pipeline, { key = crypto.randomUUID(), ...rest }) {
      const body = bodyOf(rest);
      if (typeof body === "string") keep(key, { pipeline, body });
      return send(pipeline, key, body);
    },
    async kept(key) {
      const text = storage?.getItem(nameOf(key));
      if (text == null) return null;
      const kept = JSON.parse(text) as Kept;
      return "id" in kept ? follow(kept.id) : send(kept.pipeline, key, kept.body);
    },
    forget,
    follow,
    async list(query = {}) {
      const said = new URLSearchParams(
        Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
      );
      const { runs } = (await (await link.send(`/runs?${said}`)).json()) as { readonly runs: readonly RunLine[] };
      return runs;
    },
  };
}

/** JSON, or a form with a part for each file, named after its place in the input. */
function bodyOf({ input, ...rest }: { readonly input: unknown; readonly [name: string]: unknown }): string | FormData {
  const files: [string, Blob][] = [];
  const plain = (value: unknown, path: string): unknown => {
    if (value instanceof Blob) {
      files.push([path, value]);
      return null;
    }
    if (Array.isArray(value)) return value.map((one, index) => plain(one, `${path}.${index}`));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, plain(inner, path === "" ? name : `${path}.${name}`)]),
    );
  };
  const text = plain(input, "");
  if (files.length === 0) return JSON.stringify({ ...rest, input: text });
  const form = new FormData();
  form.set("input", JSON.stringify(text));
  for (const [name, value] of Object.entries(rest)) if (value !== undefined) form.set(name, String(value));
  for (const [name, file] of files) form.set(name, file, file instanceof File ? file.name : "file");
  return form;
}

function typeOf(body: string | FormData): Record<string, string> {
  return typeof body === "string" ? { "Content-Type": "application/json" } : {};
}

function ownStorage(): KeyStorage | null {
  try {
    return (globalThis as { readonly sessionStorage?: KeyStorage }).sessionStorage ?? null;
  } catch {
    return null;
  }
}
