import type { ErrorBody } from "../../views/document.ts";
import { inlined, inlinedAnswer } from "./inlined.ts";

/** A refusal of the server, with its message. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** In a report, what it holds. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  if (inlined === null) return send<T>(path, { signal: signal ?? null });
  const answer = inlinedAnswer(inlined, path);
  if (answer === null) throw new Refused(404, "NOT_IN_REPORT", "This report does not hold it; the journal does.");
  return answer as T;
}

/** What is held back goes first, so that the server hears of everything in the order in which it was done. */
export async function post<T>(path: string, body: unknown, signal: AbortSignal | null = null): Promise<T> {
  await held?.send();
  return send<T>(path, { ...json(body), signal });
}

function json(body: unknown): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

interface Held {
  /** Sends it now. */
  send(): Promise<void>;
  /** Takes it back; too late once it was sent. */
  undo(): void;
}

let held: Held | null = null;
addEventListener("pagehide", () => void held?.send());

/** Posts a moment later, so that it can be taken back; at once where the page is left or something else is posted. */
export function postLater(path: string, body: unknown, ms: number, ended: (failure: Error | null) => void): Held {
  void held?.send();
  const timer = setTimeout(() => void own.send(), ms);
  /** False where it was sent or taken back before. */
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

/** Sends the bytes of a file that was picked. */
export function sendFile<T>(path: string, file: Blob): Promise<T> {
  return send<T>(path, { method: "POST", headers: { "content-type": "application/octet-stream" }, body: file });
}

async function send<T>(path: string, init: RequestInit): Promise<T> {
  const answer = await fetch(path, init).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, "UNREACHABLE", "The dashboard's server does not answer. Is it still running?");
  });
  const body: unknown = await answer.json().catch(() => null);
  if (answer.ok) return body as T;
  const { error } = (body ?? {
    error: { code: "INTERNAL", message: "The server's answer could not be read." },
  }) as ErrorBody;
  throw new Refused(answer.status, error.code, error.message);
}

export const runPath = (id: string) => `/api/runs/${encodeURIComponent(id)}`;
