import { catalogOf, described } from "../../core/catalog/catalog.ts";
import { diffCatalogs } from "../../core/catalog/diff.ts";
import { typedInputs } from "../../core/catalog/typed-inputs.ts";
import type { CatalogModel } from "../../core/plan/index.ts";
import { isRecord } from "./cleaner.ts";
import { recordable } from "./recorded-values.ts";

/** An answer to a request that can be asked again. */
export interface Answered {
  /** Such as `GET /models/image-1`. */
  readonly request: string;
  readonly body?: unknown;
  readonly status: number;
  /** JSON. */
  readonly answer?: unknown;
}

/** One difference between a recorded answer and today's. */
export interface Drift {
  readonly request: string;
  /** Path in the answer, or a model with the field of its input; null for the answer as a whole. */
  readonly field: string | null;
  readonly message: string;
}

type Say = (field: string, message: string) => void;

/** Where to read on says nothing of an answer's form. */
const CURSOR = "next_cursor";
/** Fields of an estimate whose values count, not their kinds alone. */
const PRICED = ["cost", "quotable"] as const;

export const isModelList = (request: string): boolean => /^GET \/models(?:\?|$)/.test(request);

/** Where today's answer differs from the recorded one: in status, in fields and kinds of values, in models, in what an estimate says. */
export function driftOf(was: Answered, is: Answered): readonly Drift[] {
  const { request } = was;
  if (was.status !== is.status) {
    return [{ request, field: null, message: `its status was ${was.status}, is ${is.status}` }];
  }
  // Reasons of a refusal are meant for people.
  if (was.status >= 300) return [];
  const found: Drift[] = [];
  const say: Say = (field, message) => found.push({ request, field: field || null, message });
  const [old, now] = [recordable(was.answer), recordable(is.answer)];
  compareKinds([formOf(request, old)], [formOf(request, now)], "", say);
  compareModels(request, old, now, say);
  if (request.startsWith("POST ")) comparePrices(old, now, say);
  return found;
}

/** What is compared by kind: without what is compared as a catalog, and of an OpenAPI document its operations alone. */
function formOf(request: string, answer: unknown): unknown {
  if (!isRecord(answer)) return answer;
  if (!request.endsWith("/openapi.json")) return { ...answer, input_schema: undefined };
  const paths = Object.entries(isRecord(answer.paths) ? answer.paths : {});
  const methods = (operations: unknown) =>
    Object.keys(isRecord(operations) ? operations : {}).map((name) => [name, true]);
  return {
    paths: Object.fromEntries(paths.map(([path, operations]) => [path, Object.fromEntries(methods(operations))])),
  };
}

/** Values that stood at one path, of all items of a list together. */
function compareKinds(was: readonly unknown[], is: readonly unknown[], path: string, say: Say): void {
  const [had, has] = [kindsOf(was), kindsOf(is)];
  if (had !== has) say(path, `was ${had}, is ${has}`);
  const [oldItems, items] = [was, is].map((values) => values.filter((value) => Array.isArray(value)).flat());
  if (oldItems!.length > 0 && items!.length > 0) compareKinds(oldItems!, items!, `${path}[]`, say);
  const [oldRecords, records] = [was.filter(isRecord), is.filter(isRecord)];
  if (oldRecords.length === 0 || records.length === 0) return;
  const names = new Set([...oldRecords, ...records].flatMap((record) => Object.keys(record)));
  for (const name of [...names].filter((one) => one !== CURSOR)) {
    const [old, now] = [oldRecords, records].map((all) => valuesAt(all, name));
    const field = path === "" ? name : `${path}.${name}`;
    if (old!.length > 0 && now!.length > 0) compareKinds(old!, now!, field, say);
    else if (old!.length > 0) say(field, "is missing");
    else if (now!.length > 0) say(field, "is new");
  }
}

function valuesAt(records: readonly Readonly<Record<string, unknown>>[], name: string): readonly unknown[] {
  return records
    .flatMap((record) => (Object.hasOwn(record, name) && record[name] !== undefined ? [[record[name]]] : []))
    .flat(1);
}

function kindsOf(values: readonly unknown[]): string {
  const kindOf = (value: unknown) => (value === null ? "null" : Array.isArray(value) ? "list" : typeof value);
  return [...new Set(values.map(kindOf))].sort().join(" or ");
}

function compareModels(request: string, was: unknown, is: unknown, say: Say): void {
  const [before, after] = [modelsIn(request, was), modelsIn(request, is)];
  // A list that was not read to its end says nothing of models that it does not name, and a document's paths name its own.
  const isWhole = !request.endsWith("/openapi.json") && isRecord(was) && typeof was[CURSOR] !== "string";
  const known = new Set(before.map(({ id }) => id));
  const compared = isWhole ? after : after.filter(({ id }) => known.has(id));
  for (const { model, field, message } of diffCatalogs(catalogOf(before), catalogOf(compared))) {
    say(field === null ? model : `${model}.${field}`, message);
  }
}

function modelsIn(request: string, answer: unknown): readonly CatalogModel[] {
  if (!isRecord(answer)) return [];
  if (request.endsWith("/openapi.json")) {
    return [...typedInputs(answer)].map(([id, inputSchema]) => ({
      ...modelOf({ id, input_schema: inputSchema })!,
      state: "live",
    }));
  }
  const isOne = /^GET \/models\/[^/?]+$/.test(request);
  const said = isModelList(request) ? answer.data : isOne ? [answer] : [];
  return (Array.isArray(said) ? said : []).flatMap((one: unknown) => modelOf(one) ?? []);
}

function modelOf(said: unknown): CatalogModel | null {
  if (!isRecord(said) || typeof said.id !== "string") return null;
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  const schema = (value: unknown) => (isRecord(value) ? value : null);
  return described({
    id: said.id,
    modality: text(said.modality),
    name: text(said.name),
    description: text(said.description),
    priceDescription: text(said.price_description),
    inputSchema: schema(said.input_schema),
    outputSchema: schema(said.output_schema),
  });
}

function comparePrices(was: unknown, is: unknown, say: Say): void {
  if (!isRecord(was) || !isRecord(is)) return;
  for (const name of PRICED) {
    const [old, now] = [was[name], is[name]];
    // Another kind is said already, and one that is no value has its fields compared.
    if (typeof old === typeof now && typeof old !== "object" && old !== now) {
      say(name, `was ${JSON.stringify(old)}, is ${JSON.stringify(now)}`);
    }
  }
}
