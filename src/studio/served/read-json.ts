import { type BodyBounds, readBytes, type SentBody } from "./read-bytes.ts";
import { badRequest, Refusal } from "./refusal.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** Reads the JSON object of a request. @throws Refusal 408, 413, 415 when it is not JSON, 400 when malformed */
export async function readJson(body: SentBody, bounds: BodyBounds): Promise<JsonObject> {
  if (!isOfType(body, "application/json")) throw new Refusal(415, "CONTENT_TYPE", "Send JSON, as application/json.");
  return jsonObject(new TextDecoder().decode(await readBytes(body, bounds)), "The body");
}

export function jsonObject(text: string, what: string): JsonObject {
  let body: unknown;
  try {
    body = text === "" ? {} : JSON.parse(text);
  } catch {
    throw badRequest(`${what} is no JSON.`);
  }
  if (!isRecord(body)) throw badRequest(`${what} is no JSON object.`);
  return body;
}

export function isRecord(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isOfType({ contentType }: Pick<SentBody, "contentType">, type: string): boolean {
  return contentType.split(";", 1)[0]!.trim().toLowerCase() === type;
}
