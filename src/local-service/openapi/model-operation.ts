import type { CatalogEntry, JsonSchema } from "../catalog/model.ts";
import type { Endpoint } from "../http/call.ts";
import type { ModelNames } from "./model-names.ts";
import { type Operation, operation } from "./operation.ts";
import { jsonBody } from "./operation-spec.ts";
import { SUBMIT_ERRORS, SUBMIT_SUCCESS, submitBody } from "./submit.ts";
import { TAGS } from "./tags.ts";

/** The path of a model's own submit operation. */
export const modelPath = (id: string) => `/models/${encodeURIComponent(id)}`;

/** `POST /models/{model}` for one model, with the schema of its input. */
export function modelOperation(entry: CatalogEntry, { operationId }: ModelNames, input: JsonSchema): Operation {
  const endpoint: Endpoint = {
    method: "POST",
    path: modelPath(entry.id),
    access: "jobs:write",
    summary: `Submit a job to ${entry.name ?? entry.id}`,
    handle: () => ({ is: "empty", status: 204 }),
  };
  return operation(endpoint, {
    tag: TAGS.submit,
    operationId,
    body: jsonBody(submitBody(input)),
    success: SUBMIT_SUCCESS,
    // This one is on offer, so it is neither unknown nor retired.
    errors: SUBMIT_ERRORS.filter((code) => code !== "NOT_FOUND" && code !== "GONE"),
  });
}

/** A model's input as a component: references within it are led to its new place, and it needs no name of its own. */
export function inputComponent(entry: CatalogEntry, name: string): JsonSchema {
  const { $id: _id, ...schema } = entry.input_schema;
  return moved(schema, `#/components/schemas/${name}`) as JsonSchema;
}

/** A model's input where its operation has it; only references within it differ from the catalog's schema. */
export function inlineInput({ id, input_schema }: CatalogEntry): JsonSchema {
  if ("$id" in input_schema) return input_schema;
  const path = modelPath(id).replaceAll("~", "~0").replaceAll("/", "~1");
  const place = `#/paths/${path}/post/requestBody/content/application~1json/schema/properties/input`;
  return moved(input_schema, place) as JsonSchema;
}

function moved(node: unknown, place: string): unknown {
  if (Array.isArray(node)) return node.map((item) => moved(item, place));
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      const isLocal = key === "$ref" && typeof value === "string" && value.startsWith("#");
      return [key, isLocal ? `${place}${value.slice(1)}` : moved(value, place)];
    }),
  );
}
