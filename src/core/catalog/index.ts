export type { Catalog, CatalogModel, JsonSchema } from "../plan/index.ts";
export { catalogOf, validateInput, valueProblems, withFamilies } from "./catalog.ts";
export { GENERATED, generateModels } from "./codegen.ts";
export { type Combination, combinationTable } from "./combination-table.ts";
export { type CatalogChange, diffCatalogs } from "./diff.ts";
export {
  type ChatLook,
  fetchCatalog,
  lookForChat,
  parseSnapshot,
  pullCatalog,
  readCatalog,
  readSnapshot,
  snapshotText,
  writeSnapshot,
} from "./fetch.ts";
