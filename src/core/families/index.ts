export {
  builtInFamilies,
  type Families,
  FamiliesError,
  type FamiliesOption,
  type Family,
  type FamilyCondition,
  type FamilyInput,
  type FamilyPrice,
  type FamilyRule,
  OURS,
  readFamilies,
} from "./families.ts";
export { type ModelName, parseModelName, versionSimilarity, wordsOfLevel } from "./model-name.ts";
