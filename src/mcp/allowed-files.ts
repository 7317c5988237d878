import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { draft } from "../define/index.ts";
import type { AgentPipeline } from "./options.ts";
import { ToolError } from "./tool-error.ts";

const LONGEST_PATH = 4_096;

/**
 * Refuses an input through which a file outside of the folder would be read: a text of it that names an existing one, and an
 * upload of the plan. An agent that follows foreign instructions could otherwise send any file of this machine to the service.
 * @throws ToolError
 */
export function checkFiles({ pipeline }: AgentPipeline, input: unknown, folder: string): void {
  for (const text of textsIn(input)) {
    if (text.trim() === "" || text.length > LONGEST_PATH || text.includes("\0")) continue;
    const path = resolve(text);
    if (existsSync(path)) refuseOutside(path, text, folder);
  }
  const { draft: drafted } = draft(pipeline, input);
  for (const step of drafted?.steps ?? []) {
    if (step.kind !== "upload" || step.bytes !== null || /^https?:\/\//i.test(step.file)) continue;
    refuseOutside(resolve(step.file), step.file, folder);
  }
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner);
}

function refuseOutside(path: string, given: string, folder: string): void {
  const inside = relative(realpathSync(folder), realPath(path));
  if (!inside.startsWith("..") && !isAbsolute(inside)) return;
  throw new ToolError(
    `The file ${JSON.stringify(given)} lies outside of the folder that inputs may name files of, ${folder}`,
    "ask the person who started this server to copy it there, or to name another folder with --files",
  );
}

/** Links resolved, as far as the path exists. */
function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const parent = dirname(path);
  return parent === path ? path : resolve(realPath(parent), relative(parent, path));
}
