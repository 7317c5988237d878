export { CredentialsError } from "./credentials/c2pa-package.ts";
export { type Credentials, readCredentials } from "./credentials/read-credentials.ts";
export { type Claim, type Ingredient, signFile } from "./credentials/sign-file.ts";
export {
  type FileMarks,
  type Mark,
  type MarkPreview,
  markFile,
  previewMark,
  readMarks,
  writeMarked,
} from "./mark-file.ts";
export { type DigitalSourceType, sourceTypes } from "./xmp.ts";
