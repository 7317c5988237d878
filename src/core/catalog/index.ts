export type { Catalog, CatalogModel, JsonSchema } from "../plan/index.ts";
export { catalogOf, withFamilies } from "./catalog.ts";
export { GENERATED, generateModels } from "./codegen/generate.ts";
export { type Combination, combinationTable } from "./combination-table.ts";
export { type CatalogChange, diffCatalogs } from "./diff.ts";
export { type ChatLook, fetchCatalog, lookForChat, pullCatalog, readCatalog } from "./fetch.ts";
export { parseSnapshot, readSnapshot, snapshotText, writeSnapshot } from "./snapshot.ts";
export { validateInput, valueProblems } from "./validate/validate.ts";
