import { readFile } from "node:fs/promises";
import { z } from "zod";
import { writeDurably } from "../durable-file.ts";
import { ShowrunnerError } from "../errors.ts";
import { builtInFamilies, type Families } from "../families/index.ts";
import type { Catalog, CatalogModel, FieldProblem, JsonSchema } from "../plan/index.ts";
import type { Json } from "../plan/plan.ts";
import { familyProblems } from "./validate/family-rules.ts";
import { validateInput } from "./validate/validate.ts";

/**
 * A catalog of these models. `otherIds` are known to exist, but nothing else is known of them; they serve suggestions.
 * `families` is what is known beyond the models' schemas: what is built in, unless said otherwise.
 */
export function catalogOf(
  models: readonly CatalogModel[],
  otherIds: readonly string[] = [],
  families: Families = builtInFamilies,
): Catalog {
  const byId = new Map(models.map((model) => [model.id, model]));
  const live = models.filter(({ state }) => state === "live").map(({ id }) => id);
  const ids = [...new Set([...live, ...otherIds])];
  return {
    model: (id) => byId.get(id) ?? null,
    ids: () => ids,
    models: () => [...byId.values()],
    family: (id) => families.of(id),
    check: (model, input) => checkBoth(validateInput(model, input), model, input, families),
  };
}

/** The same models with other knowledge of their families: `readFamilies(file)`. */
export function withFamilies(catalog: Catalog, families: Families): Catalog {
  return catalogOf(catalog.models(), catalog.ids(), families);
}

/** What the schema says comes first; a rule of ours that says the same of the same field is not told again. */
function checkBoth(
  told: readonly FieldProblem[],
  model: CatalogModel,
  input: Json,
  families: Families,
): readonly FieldProblem[] {
  const family = families.of(model.id);
  if (family === null || family.rules.length === 0) return told;
  const fields = new Set(
    told.flatMap(({ field, code, allowed }) => [field, ...(code === "choice" ? namesIn(allowed) : [])]),
  );
  return [...told, ...familyProblems(model.inputSchema, input, family.rules).filter(({ field }) => !fields.has(field))];
}

/** The fields that a choice is between. */
function namesIn(allowed: readonly string[] = []): readonly string[] {
  return allowed.flatMap((names) => names.split(" and ")).map((name) => `input.${name}`);
}

/** A catalog snapshot could not be read: not there, no JSON, or no list of models. */
export class SnapshotError extends ShowrunnerError {
  readonly code = "CATALOG_SNAPSHOT";
}

const text = z.string().nullable().default(null);
const record = z.record(z.string(), z.unknown()).nullable().default(null);

/** A model as `GET /models/{model}` answers, with a state where it cannot be used. Such a file can be served locally. */
const entry = z.object({
  id: z.string().min(1),
  modality: text,
  name: text,
  description: text,
  price_description: text,
  input_schema: record,
  output_schema: record,
  state: z.enum(["live", "retired", "unsupported", "unknown"]).optional(),
  replaced_by: z.string().optional(),
});

/** The catalog as reviewable JSON: a list sorted by id, which a pull without news leaves as it is, byte for byte. */
export function snapshotText(catalog: Catalog): string {
  const entries = [...catalog.models()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(toEntry);
  return `${JSON.stringify(entries, null, 2)}\n`;
}

function toEntry(model: CatalogModel): z.input<typeof entry> {
  return {
    id: model.id,
    modality: model.modality,
    name: model.name,
    description: model.description,
    price_description: model.priceDescription,
    ...(model.state !== "live" && { state: model.state }),
    ...(model.replacedBy !== undefined && { replaced_by: model.replacedBy }),
    input_schema: { ...model.inputSchema },
    output_schema: { ...model.outputSchema },
  };
}

/** Reads what {@link snapshotText} wrote, or any list of models as the service answers them. Throws {@link SnapshotError}. */
export function parseSnapshot(json: string, name = "the catalog snapshot"): Catalog {
  let data: unknown;
  try {
    data = JSON.parse(json);
  } catch (cause) {
    throw new SnapshotError(`${name} is no JSON; write it again with: showrunner models pull`, { cause });
  }
  const parsed = z.array(entry).safeParse(data);
  if (parsed.success) return catalogOf(parsed.data.map(toModel));
  const [issue] = parsed.error.issues;
  const where = issue === undefined ? "" : ` (${issue.path.join(".")}: ${issue.message})`;
  throw new SnapshotError(`${name} is no list of models${where}; write it again with: showrunner models pull`);
}

function toModel(from: z.output<typeof entry>): CatalogModel {
  const model = described({
    id: from.id,
    modality: from.modality,
    name: from.name,
    description: from.description,
    priceDescription: from.price_description,
    inputSchema: from.input_schema,
    outputSchema: from.output_schema,
  });
  const state = from.state ?? model.state;
  return { ...model, state, ...(from.replaced_by !== undefined && { replacedBy: from.replaced_by }) };
}

/** {@link parseSnapshot} of a file. */
export async function readSnapshot(path: string): Promise<Catalog> {
  let json: string;
  try {
    json = await readFile(path, "utf8");
  } catch (cause) {
    throw new SnapshotError(`${path} cannot be read; write it with: showrunner models pull`, { cause });
  }
  return parseSnapshot(json, path);
}

/** Writes {@link snapshotText}; a reader sees the old file or the new one, never a half. */
export async function writeSnapshot(path: string, catalog: Catalog): Promise<void> {
  await writeDurably(path, snapshotText(catalog));
}

/** What the catalog needs of a client; the v3 client has it. Errors carry `status`, `code` and `replacedBy`. */
export interface CatalogClient {
  models(): AsyncIterable<{ readonly id: string }>;
  model(id: string): Promise<ModelAnswer>;
}

interface ModelAnswer {
  readonly id: string;
  readonly modality: string | null;
  readonly name: string | null;
  readonly description: string | null;
  readonly priceDescription: string | null;
  readonly inputSchema: Readonly<Record<string, unknown>> | null;
  readonly outputSchema: Readonly<Record<string, unknown>> | null;
}

/**
 * Reads the models with these ids, or all that the service lists. Sends nothing but reads. A retired model, and one
 * that is not at this service yet, is there with its state; an unknown id is not. Throws what the client throws for
 * every other failure.
 */
export async function fetchCatalog(client: CatalogClient, ids?: readonly string[]): Promise<Catalog> {
  const requested = [...new Set(ids ?? (await listedIds(client)))];
  const found = await Promise.all(requested.map((id) => fetchModel(client, id)));
  const models = found.filter((model) => model !== null);
  // Only for "did you mean": a list that cannot be read is no problem of the plan.
  const others = models.length < requested.length ? await listedIds(client).catch(() => []) : [];
  return catalogOf(models, others);
}

/**
 * Reads the whole catalog, and the models that an earlier one had: those that were removed stay listed with their
 * last known schema, marked as retired, so that code which uses them learns of their successor.
 */
export async function pullCatalog(client: CatalogClient, previous: Catalog | null): Promise<Catalog> {
  const listed = await listedIds(client);
  const known = previous?.models() ?? [];
  const fetched = await fetchCatalog(client, [...listed, ...known.map(({ id }) => id)]);
  const models = fetched.models().map((model) => {
    const before = previous?.model(model.id) ?? null;
    const { state, message, replacedBy } = model;
    if (state === "live" || before === null) return model;
    return {
      ...before,
      state,
      ...(message !== undefined && { message }),
      ...(replacedBy !== undefined && { replacedBy }),
    };
  });
  return catalogOf(models);
}

async function listedIds(client: CatalogClient): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of client.models()) ids.push(id);
  return ids;
}

async function fetchModel(client: CatalogClient, id: string): Promise<CatalogModel | null> {
  try {
    return described(await client.model(id));
  } catch (error) {
    const { isForeign, status, code, replacedBy } = readError(error);
    if (isForeign) throw error;
    if (status === 404 || code === "NOT_FOUND") return null;
    const blank = described({
      id,
      modality: null,
      name: null,
      description: null,
      priceDescription: null,
      inputSchema: null,
      outputSchema: null,
    });
    const message = error instanceof Error ? { message: error.message } : {};
    if (status === 410 || code === "GONE") {
      return { ...blank, ...message, state: "retired", ...(replacedBy !== null && { replacedBy }) };
    }
    if (code === "FAILED_PRECONDITION") return { ...blank, ...message, state: "unsupported" };
    throw error;
  }
}

/** A model as the service describes it. */
export function described(answer: ModelAnswer): CatalogModel {
  const { id, name, description, priceDescription } = answer;
  const modality = answer.modality ?? "";
  return {
    id,
    modality,
    name,
    description,
    priceDescription,
    inputSchema: (answer.inputSchema ?? {}) satisfies JsonSchema,
    outputSchema: (answer.outputSchema ?? {}) satisfies JsonSchema,
    state: ["image", "video", "audio"].includes(modality) ? "live" : "unknown",
  };
}

interface ReadError {
  /** Not the service's own word: a proxy's 404 says nothing about a model. */
  readonly isForeign: boolean;
  readonly status: number | null;
  readonly code: string | null;
  readonly replacedBy: string | null;
}

function readError(error: unknown): ReadError {
  const facts: { envelope?: unknown; status?: unknown; code?: unknown; replacedBy?: unknown } =
    typeof error === "object" && error !== null ? error : {};
  return {
    isForeign: facts.envelope === false,
    status: typeof facts.status === "number" ? facts.status : null,
    code: typeof facts.code === "string" ? facts.code : null,
    replacedBy: typeof facts.replacedBy === "string" ? facts.replacedBy : null,
  };
}
