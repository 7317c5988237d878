import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../../..");

export interface CodeBlock {
  /** Path relative to the repository. */
  readonly document: string;
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  /** Words after the language: `run` (the block is executed), `continues` (the block continues the previous block). */
  readonly marks: readonly string[];
  readonly code: string;
}

/** All fenced blocks in the README, the recipes, the skill and the docs. */
export function codeBlocks(): CodeBlock[] {
  const documents = [
    ...["README.md", "recipes/README.md", "recipes/distributed/README.md", "src/cli/skills/showrunner/SKILL.md"],
    ...globSync("docs/**/*.md", { cwd: root, exclude: ["docs/site/**"] }).toSorted(),
  ];
  return documents.flatMap((document) => blocksOf(document, readFileSync(join(root, document), "utf8")));
}

export function blocksOf(document: string, text: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  const fence = /^```(\w*)([^\n]*)\n([\s\S]*?)^```\s*$/gm;
  for (const match of text.matchAll(fence)) {
    const [, language = "", marks = "", code = ""] = match;
    const line = text.slice(0, match.index).split("\n").length;
    blocks.push({ document, line, language, marks: marks.trim().split(/\s+/).filter(Boolean), code });
  }
  return blocks.map((block, at) => (block.marks.includes("continues") ? joined(blocks, at) : block));
}

/** Joins a continuing block with the preceding blocks of its language, back to the block that does not continue another. */
function joined(blocks: readonly CodeBlock[], at: number): CodeBlock {
  const block = blocks[at]!;
  const parts = [block.code];
  for (let before = at - 1; before >= 0; before -= 1) {
    const other = blocks[before]!;
    if (other.language !== block.language) continue;
    parts.unshift(other.code);
    if (!other.marks.includes("continues")) break;
  }
  return { ...block, code: parts.join("\n") };
}
