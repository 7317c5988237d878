import { stat } from "node:fs/promises";
import { cleanText, ownText } from "../../clean-text.ts";
import type { JournalError } from "../../journal/events.ts";
import type { LocalFile, LocalFunction } from "../../plan/draft.ts";
import type { Json } from "../../plan/plan.ts";
import { fileOf } from "../../run/next-command.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { EffectContext, EffectResult } from "./effect.ts";

/** A result that a local function needs is not in the media store any more. */
export class InputGoneError extends Error {
  readonly code = "INPUT_GONE";
}

/** The stored bytes as a local function sees them. Throws {@link InputGoneError}. */
export async function localFile(
  media: MediaStore,
  { sha256, contentType }: { readonly sha256: string; readonly contentType: string },
): Promise<LocalFile> {
  const path = media.path(sha256);
  const found = await stat(path).catch(() => null);
  if (found === null)
    throw new InputGoneError(`a file that it reads (${sha256.slice(0, 12)}…) is missing from ${path}`);
  return { path, contentType, sha256, sizeBytes: found.size };
}

/** A resolved input with each `{ $file }` replaced by the file; everything else is a copy that the function may change. */
export async function localInput(input: Json, media: MediaStore): Promise<unknown> {
  if (typeof input !== "object" || input === null) return input;
  if (Array.isArray(input)) return Promise.all(input.map((item: Json) => localInput(item, media)));
  const record = input as { readonly [key: string]: Json };
  if (isFile(record)) return localFile(media, record.$file);
  const entries = Object.entries(record).map(async ([key, value]) => [key, await localInput(value, media)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Hashes of the stored bytes that an input names. */
export function filesOf(input: Json): readonly string[] {
  if (typeof input !== "object" || input === null) return [];
  if (!Array.isArray(input) && isFile(input)) return [input.$file.sha256];
  return Object.values(input).flatMap(filesOf);
}

function isFile(
  record: object,
): record is { readonly $file: { readonly sha256: string; readonly contentType: string } } {
  return "$file" in record;
}

const MAX_MESSAGE = 1000;

/** The function of a step, of the required kind; else the pause that waits for the code. */
export function localCode<K extends LocalFunction["kind"]>(
  { state, functions }: EffectContext,
  step: string,
  kind: K,
): { readonly code: Extract<LocalFunction, { readonly kind: K }> } | { readonly without: EffectResult } {
  const found = functions.find(state, step);
  if ("code" in found && found.code.kind === kind) {
    return { code: found.code as Extract<LocalFunction, { readonly kind: K }> };
  }
  const why = "missing" in found ? found.missing : `${step} is another kind of step in the code that was given`;
  const message = `${why}. Resume with the pipeline's file: showrunner resume ${state.runId} --file ${fileOf(state)}`;
  const paused = { type: "run.paused", reason: "code", message: ownText(message) } as const;
  return { without: { events: [paused], againInMs: Number.POSITIVE_INFINITY } };
}

export const ABORTED = Symbol("aborted");

/** What the user's code gives; it is not waited for once the run stops. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | typeof ABORTED> {
  if (signal.aborted) return ABORTED;
  let stop: () => void = () => {};
  const aborted = new Promise<typeof ABORTED>((resolve) => {
    stop = () => resolve(ABORTED);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** What the user's own code threw, in a form for the journal: its words, without a stack. */
export function thrownError(error: unknown, code: string): JournalError {
  const said = error instanceof Error ? error.message || error.name : String(error);
  const own = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : code;
  // What follows a URL's path may be a secret.
  return { code: cleanText(own, 100), message: cleanText(said, MAX_MESSAGE), retryable: true };
}
