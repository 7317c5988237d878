export { type FileMarks, readMarks } from "./file-marks.ts";
export { type Mark, type MarkPreview, markFile, previewMark, writeMarked } from "./mark-file.ts";
export type { DigitalSourceType } from "./xmp.ts";
