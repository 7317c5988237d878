import type { Catalog, CatalogModel, JsonSchema } from "../plan/index.ts";
import { catalogOf } from "./catalog.ts";

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
