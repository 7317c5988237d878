import type { ClientReport, ErrorBody, InlinedRun } from "../../views/document.ts";

export class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  if (inlined === null) return send<T>(path, { signal: signal ?? null });
  const answer = inlinedAnswer(inlined, path);
  if (answer === null)
    throw new Refused(404, "NOT_IN_REPORT", "The report does not contain this information; only the journal does.");
  return answer as T;
}

/** Posts JSON to the server. First sends any request that `postLater` still holds, to keep the order. */
export async function post<T>(path: string, body: unknown, signal: AbortSignal | null = null): Promise<T> {
  await held?.send();
  return send<T>(path, { ...json(body), signal });
}

const UNREACHABLE = "The dashboard's server cannot be reached. Is it still running?";

export function json(body: unknown): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

interface Held {
  send(): Promise<void>;
  undo(): void;
}

let held: Held | null = null;
addEventListener("pagehide", () => void held?.send());

/** Sends a request after a delay. Leaving the page or calling this again sends a pending request immediately. */
export function postLater(path: string, body: unknown, ms: number, ended: (failure: Error | null) => void): Held {
  void held?.send();
  const timer = setTimeout(() => void own.send(), ms);
  const release = () => {
    if (held !== own) return false;
    clearTimeout(timer);
    held = null;
    return true;
  };
  const own: Held = {
    async send() {
      if (!release()) return;
      await send(path, { ...json(body), keepalive: true }).then(
        () => ended(null),
        (failure: Error) => ended(failure),
      );
    },
    undo() {
      release();
    },
  };
  held = own;
  return own;
}

export function sendFile<T>(path: string, file: Blob): Promise<T> {
  return send<T>(path, { method: "POST", headers: { "content-type": "application/octet-stream" }, body: file });
}

export async function send<T>(path: string, init: RequestInit, unreachable = UNREACHABLE): Promise<T> {
  const answer = await fetch(path, init).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, "UNREACHABLE", unreachable);
  });
  const body: unknown = await answer.json().catch(() => null);
  if (answer.ok) return body as T;
  const { error } = (body ?? {
    error: { code: "INTERNAL", message: "The server's response could not be read." },
  }) as ErrorBody;
  throw new Refused(answer.status, error.code, error.message);
}

export const runPath = (id: string) => `/api/runs/${encodeURIComponent(id)}`;

export const inlined: InlinedRun | null = read("inlined-run");

export const clientReport: ClientReport | null = read("client-report");

function read<T>(of: string): T | null {
  const [data, media] = [of, "inlined-media"].map((id) => document.getElementById(id)?.textContent);
  if (data == null || media == null) return null;
  const urls = JSON.parse(media) as Readonly<Record<string, string>>;
  return JSON.parse(data, (name, value) => (name === "url" && Object.hasOwn(urls, value) ? urls[value] : value));
}

function inlinedAnswer({ answers }: InlinedRun, path: string): unknown {
  const [, name = ""] = /^\/api\/runs\/[^/]+\/(.*?)(?:\?rows=\d+)?$/.exec(path) ?? [];
  return Object.hasOwn(answers, name) ? answers[name] : null;
}
