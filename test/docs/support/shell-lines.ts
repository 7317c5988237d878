import { codeBlocks } from "./code-blocks.ts";

export interface ShellLine {
  readonly document: string;
  /** Line of the block, from 1. */
  readonly line: number;
  readonly text: string;
}

/** All command lines in the docs' shell blocks, without comments and with their continuations. */
export function shellLines(): readonly ShellLine[] {
  return codeBlocks()
    .filter(({ language }) => /^(sh|bash|shell|console)$/.test(language))
    .flatMap(({ document, line, code }) =>
      code
        .replace(/\\\n\s*/g, "")
        .split("\n")
        .map((text) => text.replace(/(^|\s)#.*$/, "").trim())
        .map((text) => text.replace(/^\$ /, ""))
        .filter(Boolean)
        .map((text) => ({ document, line, text })),
    );
}
