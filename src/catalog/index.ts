export type { Catalog, CatalogModel, JsonSchema } from "../plan/index.ts";
export {
  catalogOf,
  fetchCatalog,
  parseSnapshot,
  pullCatalog,
  readSnapshot,
  snapshotText,
  withFamilies,
  writeSnapshot,
} from "./catalog.ts";
export { generateModels } from "./codegen/generate.ts";
export { type CatalogChange, diffCatalogs } from "./diff.ts";
export { validateInput, valueProblems } from "./validate/validate.ts";
