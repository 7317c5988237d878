export {
  type Catalog,
  type CatalogModel,
  catalogOf,
  type JsonSchema,
  maxOutputsOf,
  mediaTypeOf,
  yieldsOf,
} from "./catalog.ts";
export { fetchCatalog } from "./fetch.ts";
export { generateModels } from "./generate-models.ts";
export { type InputProblem, validateInput } from "./validate.ts";
