import { setTimeout as sleep } from "node:timers/promises";
import { credentialsIn, isSecretName, learnEnvironment, secretsOfProcess } from "../../known-secrets.ts";

/** What a model holds of its configuration is found within so many objects and levels. */
const MOST_OBJECTS = 500;
const MOST_DEPTH = 6;
/** Headers that have to be fetched first, as some clouds have it, take no longer, milliseconds. */
const HEADERS_MS = 5_000;

/**
 * Learns the secrets that a model of AI SDK was made with, so that no text of its provider brings them into a journal: its headers,
 * which may be a function, fields that are named like a secret, credentials in addresses, and the variables of the environment.
 */
export async function learnSecretsOf(model: object, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  learnEnvironment(env);
  const seen = new Set<object>();
  const visit = async (value: object, depth: number): Promise<void> => {
    if (seen.has(value) || seen.size >= MOST_OBJECTS || depth === 0) return;
    seen.add(value);
    for (const [name, field] of Object.entries(value)) {
      if (/^headers$/i.test(name)) learnHeaders(await headersOf(field));
      else if (typeof field === "string") learnField(name, field);
      else if (typeof field === "object" && field !== null) await visit(field, depth - 1);
    }
  };
  await visit(model, MOST_DEPTH);
}

function learnField(name: string, value: string): void {
  if (isSecretName(name) || /key$/i.test(name)) secretsOfProcess.learn(value);
  if (!URL.canParse(value)) return;
  const { username, password, searchParams } = new URL(value);
  for (const part of [username, password]) secretsOfProcess.learn(decodeURIComponent(part));
  for (const [parameter, part] of searchParams) learnField(parameter, part);
}

function learnHeaders(headers: unknown): void {
  if (typeof headers !== "object" || headers === null) return;
  const plain = headers instanceof Headers ? Object.fromEntries(headers) : headers;
  for (const secret of credentialsIn(plain as Record<string, unknown>)) secretsOfProcess.learn(secret);
}

/** A function that throws has no key to give away. */
async function headersOf(given: unknown): Promise<unknown> {
  try {
    const headers = typeof given === "function" ? given() : given;
    return await Promise.race([headers, sleep(HEADERS_MS, undefined, { ref: false })]);
  } catch {
    return undefined;
  }
}
