import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { credentialsIn, isSecretName, learnEnvironment, secretsOfProcess } from "../../kit/known-secrets.ts";
import type { Json } from "../../plan/plan.ts";

const MOST_OBJECTS = 500;
const MOST_DEPTH = 6;
const HEADERS_MS = 5_000;

/** Returns an AI SDK model's secrets, and remembers them so that they are removed from recorded texts. */
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

/**
 * Replaces each secret in an operation with a marker. {@link unsealed} reverses this if the model has the same secrets.
 */
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
