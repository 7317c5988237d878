export type { Catalog, CatalogModel, FieldProblem, JsonSchema } from "../plan/index.ts";
export { catalogOf, withFamilies } from "./catalog.ts";
export { generateModels } from "./codegen/generate.ts";
export { type CatalogChange, diffCatalogs } from "./diff.ts";
export { type CatalogClient, fetchCatalog, pullCatalog } from "./fetch.ts";
export { parseSnapshot, readSnapshot, SnapshotError, snapshotText, writeSnapshot } from "./snapshot.ts";
export { validateInput } from "./validate/validate.ts";
export { valueProblems } from "./validate/value.ts";
