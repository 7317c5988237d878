export { CredentialsError } from "./credentials/credentials-error.ts";
export { type Credentials, readCredentials } from "./credentials/read-credentials.ts";
export { type Claim, type Ingredient, signFile } from "./credentials/sign-file.ts";
export { type FileMarks, readMarks } from "./file-marks.ts";
export { type Mark, type MarkPreview, markFile, previewMark, writeMarked } from "./mark-file.ts";
export { type DigitalSourceType, sourceTypes } from "./xmp.ts";
