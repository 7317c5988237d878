import { codeBlocks } from "./code-blocks.ts";

export interface ShellLine {
  readonly document: string;
  /** Of the block, from 1. */
  readonly line: number;
  readonly text: string;
}

/** Every command line of the docs' shell blocks, without comments, with its continuations. */
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
