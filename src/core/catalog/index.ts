export type { Catalog, CatalogModel, JsonSchema } from "../plan/index.ts";
export { catalogOf, validateInput, valueProblems, withFamilies } from "./catalog.ts";
export { GENERATED, generateModels } from "./codegen.ts";
export { type Combination, combinationTable } from "./combination-table.ts";
export { type CatalogChange, diffCatalogs } from "./diff.ts";
export { type ChatLook, fetchCatalog, lookForChat, pullCatalog, readCatalog } from "./fetch.ts";
export { parseSnapshot, readSnapshot, snapshotText, writeSnapshot } from "./snapshot.ts";
