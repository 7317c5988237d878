/** The readers of mediabunny, and nothing that writes. The build bundles this file: 0.4 MB in place of 11 MB installed. */
export { ALL_FORMATS, FilePathSource, Input } from "mediabunny";
