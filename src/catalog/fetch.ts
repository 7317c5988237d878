import { ApiError, type Client } from "../api/index.ts";
import { type Catalog, type CatalogModel, catalogOf, type JsonSchema } from "./catalog.ts";

/** Reads the named models from the service (all that it lists, by default). Only GETs. */
export async function fetchCatalog(client: Client, ids?: readonly string[]): Promise<Catalog> {
  const wanted = ids ?? (await listedIds(client));
  const found = await Promise.all(wanted.map((id) => fetchModel(client, id)));
  const models = found.filter((model): model is CatalogModel => model !== null);
  // Only for "did you mean": a list that cannot be read is no problem of the plan.
  const others = models.length < wanted.length ? await listedIds(client).catch(() => []) : [];
  return catalogOf(models, others);
}

async function listedIds(client: Client): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of client.models()) ids.push(id);
  return ids;
}

async function fetchModel(client: Client, id: string): Promise<CatalogModel | null> {
  try {
    const { modality, name, description, priceDescription, inputSchema, outputSchema } = await client.model(id);
    const schemas = {
      inputSchema: (inputSchema ?? {}) as JsonSchema,
      outputSchema: (outputSchema ?? {}) as JsonSchema,
    };
    return { id, modality: modality ?? "", name, description, priceDescription, ...schemas, state: "live" };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) return null;
    const state = error.status === 410 ? "retired" : error.status === 400 ? "unsupported" : null;
    if (state === null) throw error;
    const blank = {
      modality: "",
      name: null,
      description: null,
      priceDescription: null,
      inputSchema: {},
      outputSchema: {},
    };
    const successor = error.replacedBy === null ? {} : { replacedBy: error.replacedBy };
    return { id, ...blank, state, message: error.message, ...successor };
  }
}
