export {
  type Claim,
  type Credentials,
  CredentialsError,
  type Ingredient,
  readCredentials,
  signFile,
} from "./credentials.ts";
export {
  type FileMarks,
  type Mark,
  type MarkPreview,
  markFile,
  previewMark,
  readMarks,
  writeMarked,
} from "./mark-file.ts";
export { type DigitalSourceType, sourceTypes } from "./source.ts";
