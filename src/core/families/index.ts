export {
  type Family,
  type FamilyCondition,
  type FamilyInput,
  type FamilyPrice,
  type FamilyRule,
  OURS,
} from "./built-in.ts";
export { builtInFamilies, type Families, FamiliesError, type FamiliesOption, readFamilies } from "./families.ts";
export { type ModelName, parseModelName, versionSimilarity, wordsOfLevel } from "./model-name.ts";
