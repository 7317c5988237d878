import { callSite } from "../../define/index.ts";
import type { JournalError } from "../../journal/events.ts";
import { cleanText, ownText, thrownText } from "../../kit/clean-text.ts";
import { isCallerError } from "../../kit/errors.ts";
import type { Json, LocalFile, LocalFunction } from "../../plan/plan.ts";
import { fileOf } from "../../run/next-command.ts";
import { plainName } from "../../run/resolve.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { HeldMedia } from "../media/place-file.ts";
import { deferToNextDrive, type EffectResult } from "../service/service-answers.ts";
import type { EffectContext } from "./effect.ts";

export function localFile(
  held: HeldMedia,
  { sha256, contentType }: { readonly sha256: string; readonly contentType: string },
): LocalFile {
  return { path: held.path(sha256), contentType, sha256, sizeBytes: held.sizeBytes(sha256) };
}

export function localInput(input: Json, held: HeldMedia): unknown {
  if (typeof input !== "object" || input === null) return input;
  if (Array.isArray(input)) return input.map((item: Json) => localInput(item, held));
  const record = input as { readonly [key: string]: Json };
  if (isFile(record)) return localFile(held, record.$file);
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [plainName(name), localInput(value, held)]));
}

/** Returns a model's input, with references to files replaced by the files' contents. */
export async function modelInput(value: Json, media: MediaStore): Promise<unknown> {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Promise.all(value.map((item: Json) => modelInput(item, media)));
  if ("$file" in value) {
    const { sha256, contentType } = value.$file as { readonly sha256: string; readonly contentType: string };
    return { type: "file", mediaType: contentType, data: await bytesOf(sha256, media) };
  }
  const entries = Object.entries(value).map(
    async ([key, item]) => [plainName(key), await modelInput(item, media)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

async function bytesOf(sha256: string, media: MediaStore): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await media.read(sha256)) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}

export function filesOf(input: Json): readonly string[] {
  const found: string[] = [];
  visit(input, found);
  return found;
}

function visit(input: Json, found: string[]): void {
  if (typeof input !== "object" || input === null) return;
  if (!Array.isArray(input) && isFile(input)) found.push(input.$file.sha256);
  else for (const inner of Object.values(input)) visit(inner, found);
}

function isFile(
  record: object,
): record is { readonly $file: { readonly sha256: string; readonly contentType: string } } {
  return "$file" in record;
}

const MAX_MESSAGE = 1000;

export function localCode<K extends LocalFunction["kind"]>(
  { state, functions }: EffectContext,
  step: string,
  kind: K,
): { readonly code: Extract<LocalFunction, { readonly kind: K }> } | { readonly without: EffectResult } {
  const found = functions.find(state, step);
  if ("code" in found && found.code.kind === kind) {
    return { code: found.code as Extract<LocalFunction, { readonly kind: K }> };
  }
  const why = "missing" in found ? found.missing : `${step} is a different kind of step in the given pipeline`;
  const message = `${why}. Resume with the pipeline's file: showrunner resume ${state.runId} --file ${fileOf(state)}`;
  const paused = { type: "run.paused", reason: "code", message: ownText(message) } as const;
  return { without: deferToNextDrive(paused) };
}

export const ABORTED = Symbol("aborted");

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

export function thrownError(error: unknown, code: string): JournalError {
  const text = thrownText(error);
  const errorCode = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : code;
  const site = error instanceof Error ? callSite(error.stack) : null;
  const words = { code: cleanText(errorCode, 100), message: cleanText(text, MAX_MESSAGE), retryable: true };
  const forCallers = isCallerError(error) ? ({ forCallers: true } as const) : {};
  return { ...words, ...(site !== null && { site: cleanText(site, MAX_MESSAGE) }), ...forCallers };
}
