export { readMarks } from "./file-marks.ts";
export { markFile } from "./mark-file.ts";
