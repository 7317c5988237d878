import type { QuoteDocument, RunLine } from "../../core/view/index.ts";
import { type FollowedRun, followedRun, type Link, RequestError } from "./followed-run.ts";

interface KeyStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** Options for `connect`. */
export interface ConnectOptions {
  /** Headers such as `{ Authorization: "Bearer …" }`, or a function called for each request. Default: only cookies. */
  readonly headers?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>);
  /**
   * Where the keys of started runs are stored, so that `kept` can find the runs. Null stores nothing. Default:
   * `sessionStorage`.
   */
  readonly storage?: KeyStorage | null;
}

/** Options for `start`. */
export interface StartOptions {
  /** The pipeline's input. Any `File` or `Blob` in it is uploaded with the request. */
  readonly input: unknown;
  /**
   * Id of the quote that the user agreed to. Without a valid quote, `start` throws an error with {@link
   * RequestError.quote}.
   */
  readonly quote?: string;
  /**
   * New maximum cost of an existing run, in US dollars as a decimal string. Setting it also accepts the prices that
   * paused the run.
   */
  readonly agree?: string;
  /** Your own key, such as an order id. Starting again with the same key returns the same run. Default: random. */
  readonly key?: string;
  /** Maximum cost of the run, in US dollars as a decimal string. Default: the budget that the server sets. */
  readonly budget?: string;
  /** Title of the run, shown to people. */
  readonly title?: string;
}

/** Prices, starts and follows runs on a server that uses `createHandler`. */
export interface Runs {
  /** Prices a run. Spends nothing. @throws RequestError */
  quote(pipeline: string, input: unknown): Promise<QuoteDocument>;
  /** Starts a run and stores its key. @throws RequestError */
  start(pipeline: string, options: StartOptions): Promise<FollowedRun>;
  /**
   * Returns the run that was started with this key, even after the page was reloaded. Returns null if there is none.
   */
  kept(key: string): Promise<FollowedRun | null>;
  /** Removes the stored key. The run itself continues. */
  forget(key: string): void;
  /** Follows a run by its id. */
  follow(id: string): FollowedRun;
  /** Lists runs, newest first. @throws RequestError */
  list(query?: { readonly pipeline?: string; readonly limit?: number }): Promise<readonly RunLine[]>;
}

/**
 * What is stored for a run's key: the run's id or, while the id is unknown, the request, so that it can be sent again.
 */
type Kept = { readonly id: string } | { readonly pipeline: string; readonly body: string };

/** Returns a client for the handler at an address such as `/api/films`. */
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
      // If the server refused the start, there is no run. If the response was lost, there may be a run, so its key
      // stays stored.
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
      return (await response.json()) as QuoteDocument;
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
