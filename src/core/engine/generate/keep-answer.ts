import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { OutputFacts, RunEvent, StoredCopy } from "../../journal/events.ts";
import { type CleanText, cleanText, ownText, sentence } from "../../kit/clean-text.ts";
import { credentialsIn, isSecretName, learnEnvironment, secretsOfProcess } from "../../kit/known-secrets.ts";
import type { GenerateStep, VideoData } from "../../plan/kinds/generate.ts";
import type { Json, MediaKind, ProviderStep } from "../../plan/plan.ts";
import { chargedMicros } from "../../providers.ts";
import { type MediaFacts, measureMedia } from "../media/media-reader.ts";
import type { MediaStore, StoredMedia } from "../media/media-store.ts";
import { fetchFile } from "../media/open-file.ts";

export type Made = Uint8Array | { readonly url: string };

export function madeOf(given: readonly (string | Uint8Array | VideoData)[]): readonly Made[] {
  return given.map((medium) => {
    if (typeof medium === "string") return Buffer.from(medium.replace(/^data:[^,]*,/, ""), "base64");
    if (medium instanceof Uint8Array) return medium;
    if (medium.type === "url") return { url: medium.url };
    if (medium.type === "base64") return Buffer.from(medium.data, "base64");
    return medium.type === "binary" ? medium.data : Buffer.alloc(0);
  });
}

/**
 * Thrown if no valid file could be fetched for an output. `came` is the hash of the invalid file, or null if no file
 * was fetched.
 */
class UnfetchedError extends Error {
  readonly came: string | null;

  constructor(message: string, came: string | null = null) {
    super(message);
    this.came = came;
  }
}

export class UnkeptError extends Error {
  readonly kept: readonly string[];
  /** True if every failure was a failed fetch; false if one was a local problem, such as a full disk. */
  readonly isUnfetched: boolean;

  constructor(cause: unknown, kept: readonly string[]) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.kept = kept;
    this.isUnfetched = cause instanceof UnfetchedError;
  }

  get said(): CleanText {
    const text = cleanText(this.message);
    return this.kept.length === 0 ? text : sentence`${text}; what was stored ${whereKept(this.kept)}`;
  }
}

interface Keeping {
  readonly media: MediaStore;
  readonly inside: readonly string[];
}

interface Kept {
  readonly outputs: readonly OutputFacts[];
  readonly copies: readonly (StoredCopy | null)[];
  /** Hashes of paid results that are not valid media; not set if all are valid. */
  readonly unfit?: readonly string[];
}

type One = readonly [OutputFacts, StoredCopy | null] | readonly [OutputFacts, null, string];

/**
 * Stores a provider's outputs. `known` maps the positions of outputs to the media that earlier attempts stored. Media
 * that this call stores are added to it.
 */
export async function keepOutputs(
  { yields, outputs: asked }: Pick<GenerateStep, "yields" | "outputs">,
  produced: readonly Made[],
  keeping: Keeping,
  known = new Map<number, StoredMedia>(),
): Promise<Kept> {
  const kept: One[] = [];
  const failures: unknown[] = [];
  // Surplus media are dropped; otherwise a response could fill the disk.
  for (const [index, output] of produced.slice(0, asked).entries()) {
    try {
      kept.push(await keepOne(index, output, yields, { ...keeping, known }));
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) {
    // A local problem is likely to pass sooner than a problem with a remote URL.
    const worst = failures.find((error) => !(error instanceof UnfetchedError)) ?? failures[0];
    const came = failures.flatMap((error) => (error instanceof UnfetchedError && error.came) || []);
    throw new UnkeptError(worst, [...new Set([...[...known.values()].map(({ sha256 }) => sha256), ...came])]);
  }
  for (let index = produced.length; index < asked; index += 1) {
    kept.push([failedOutput(index, ownText("the provider returned fewer outputs than requested")), null]);
  }
  const unfit = kept.flatMap(([, , sha256]) => sha256 ?? []);
  const outputs = kept.map(([facts]) => facts);
  return { outputs, copies: kept.map(([, copy]) => copy), ...(unfit.length > 0 && { unfit }) };
}

async function keepOne(
  index: number,
  output: Made,
  kind: MediaKind,
  { known, ...keeping }: Keeping & { readonly known: Map<number, StoredMedia> },
): Promise<One> {
  const { media } = keeping;
  if (output instanceof Uint8Array && output.length === 0) {
    return [failedOutput(index, ownText("the provider returned an empty file")), null];
  }
  const stored = known.get(index) ?? (await storedFrom(output, keeping));
  known.set(index, stored);
  await using held = await media.hold([stored.sha256]);
  const facts = await measureMedia(held.path(stored.sha256), kind);
  if ("fault" in facts && !(output instanceof Uint8Array)) {
    // The file may be an error page or truncated. The URL may deliver the whole file next time.
    known.delete(index);
    throw new UnfetchedError(`the file at the output's URL is not the expected ${kind}: ${facts.fault}`, stored.sha256);
  }
  if ("fault" in facts) {
    const message = cleanText(
      `the output is not the expected ${kind}: ${facts.fault}; the file ${whereKept([stored.sha256])}`,
    );
    return [failedOutput(index, message), null, stored.sha256];
  }
  return produced(index, facts, stored);
}

function whereKept(hashes: readonly string[]): CleanText {
  return ownText(`is in the media folder as ${hashes.join(", ")}`);
}

async function storedFrom(output: Made, keeping: Keeping): Promise<StoredMedia> {
  return output instanceof Uint8Array ? keeping.media.put({ bytes: output }) : fetched(output.url, keeping);
}

async function fetched(url: string, { media, inside }: Keeping): Promise<StoredMedia> {
  const stored = await fetchFile(url, media, { inside });
  if ("error" in stored) throw new UnfetchedError(stored.error);
  return stored;
}

function produced(
  index: number,
  facts: MediaFacts,
  { sha256, sizeBytes }: StoredMedia,
): readonly [OutputFacts, StoredCopy] {
  const contentType = ownText(facts.contentType);
  const output = {
    index,
    status: "COMPLETED",
    assetId: null,
    voiceId: null,
    error: null,
    ...facts,
    contentType,
  } as const;
  return [output, { sha256, sizeBytes, contentType }];
}

function failedOutput(index: number, message: CleanText): OutputFacts {
  const unknown = { contentType: null, width: null, height: null, durationMs: null, fps: null } as const;
  const error = { code: ownText("NO_MEDIA"), message, retryable: false };
  return { index, status: "FAILED", assetId: null, voiceId: null, error, ...unknown };
}

export function completedEvents(
  { path: step, provider }: ProviderStep,
  attempt: { readonly n: number; readonly holdMicros: number },
  { kept, metadata }: { readonly kept: Kept; readonly metadata: unknown },
): readonly RunEvent[] {
  const target = { step, attempt: attempt.n };
  return [{ type: "job.completed", ...target, ...kept }, settledEvent(target, { provider, metadata, ...attempt })];
}

export function settledEvent(
  target: { readonly step: string; readonly attempt: number },
  {
    provider,
    metadata,
    holdMicros,
  }: { readonly provider: string; readonly metadata: unknown; readonly holdMicros: number },
): RunEvent {
  const charged = chargedMicros(provider, metadata);
  if (charged !== null) return { type: "job.settled", ...target, costMicros: charged };
  return { type: "job.settled", ...target, costMicros: holdMicros, isUnconfirmed: true };
}

const MOST_OBJECTS = 500;
const MOST_DEPTH = 6;
const HEADERS_MS = 5_000;

/** Returns an AI SDK model's secrets, and remembers them so that they are removed from recorded text. */
export async function learnSecretsOf(model: object, env: NodeJS.ProcessEnv = process.env): Promise<Secrets> {
  learnEnvironment(env);
  const found = new Set<string>();
  const seen = new Set<object>();
  const visit = async (value: object, depth: number): Promise<void> => {
    if (seen.has(value) || seen.size >= MOST_OBJECTS || depth === 0) return;
    seen.add(value);
    for (const [name, field] of Object.entries(value)) {
      if (/^headers$/i.test(name)) learnHeaders(await headersOf(field), found);
      else if (typeof field === "string") learnField(name, field, found);
      else if (typeof field === "object" && field !== null) await visit(field, depth - 1);
    }
  };
  await visit(model, MOST_DEPTH);
  const parts = [...found].flatMap((secret) => [secret, secret.slice(secret.indexOf(":") + 1)]);
  const secrets = new Set(parts.filter((secret) => secret.length >= SHORTEST_SEALED));
  for (const secret of found) secretsOfProcess.learn(secret);
  return [...secrets].toSorted((first, second) => second.length - first.length);
}

type Secrets = readonly string[];

const SHORTEST_SEALED = 8;
const SEAL = /\[secret [0-9a-f]{16}\]/g;
const sealOf = (secret: string) => `[secret ${hash("sha256", `showrunner seal ${secret}`).slice(0, 16)}]`;

/** Replaces each of the model's secrets in an operation with a marker. {@link unsealed} puts the secrets back. */
export function sealed(operation: Json, secrets: Secrets): Json {
  return withTexts(operation, (text) =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, sealOf(secret)), text),
  );
}

export async function unsealed(operation: Json, model: object): Promise<Json> {
  if (JSON.stringify(operation).search(SEAL) < 0) return operation;
  const secrets = new Map((await learnSecretsOf(model)).map((secret) => [sealOf(secret), secret]));
  return withTexts(operation, (text) => text.replace(SEAL, (mark) => secrets.get(mark) ?? mark));
}

function withTexts(value: Json, change: (text: string) => string): Json {
  return JSON.parse(JSON.stringify(value), (_, inner: unknown) => (typeof inner === "string" ? change(inner) : inner));
}

function learnField(name: string, value: string, found: Set<string>): void {
  if (isSecretName(name) || /key$/i.test(name)) found.add(value);
  if (!URL.canParse(value)) return;
  const { username, password, searchParams } = new URL(value);
  for (const part of [username, password]) found.add(decodeURIComponent(part));
  for (const [parameter, part] of searchParams) learnField(parameter, part, found);
}

function learnHeaders(headers: unknown, found: Set<string>): void {
  if (typeof headers !== "object" || headers === null) return;
  const plain = headers instanceof Headers ? Object.fromEntries(headers) : headers;
  for (const secret of credentialsIn(plain as Record<string, unknown>)) found.add(secret);
}

async function headersOf(given: unknown): Promise<unknown> {
  try {
    const headers = typeof given === "function" ? given() : given;
    return await Promise.race([headers, sleep(HEADERS_MS, undefined, { ref: false })]);
  } catch {
    return undefined;
  }
}
