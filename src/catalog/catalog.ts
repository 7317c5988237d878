import type { Catalog, CatalogModel } from "../plan/index.ts";
import { validateInput } from "./validate/validate.ts";

/** A catalog of these models. `otherIds` are known to exist, but nothing else is known of them; they serve suggestions. */
export function catalogOf(models: readonly CatalogModel[], otherIds: readonly string[] = []): Catalog {
  const byId = new Map(models.map((model) => [model.id, model]));
  const live = models.filter(({ state }) => state === "live").map(({ id }) => id);
  const ids = [...new Set([...live, ...otherIds])];
  return {
    model: (id) => byId.get(id) ?? null,
    ids: () => ids,
    models: () => [...byId.values()],
    check: (model, input) => validateInput(model, input),
  };
}
