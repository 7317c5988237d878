import { access, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { cleanText } from "../clean-text.ts";
import { ToolError } from "./tool-error.ts";

/** Of a path, in a message. */
const MOST_CHARACTERS = 300;

/**
 * Refuses an input with a text in it that names an existing file outside of the folder: code of the pipeline could read it.
 * Uploads need no such look, as the Showrunner opens nothing else for them. An agent that follows foreign instructions could
 * otherwise send any file of this machine to the service.
 * @throws ToolError
 */
export async function checkFiles(input: unknown, folder: string): Promise<void> {
  for (const text of textsIn(input)) {
    if (text.trim() === "" || text.includes("\0")) continue;
    const path = resolve(text);
    const exists = await access(path).then(
      () => true,
      () => false,
    );
    if (exists) await refuseOutside(path, text, folder);
  }
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner);
}

async function refuseOutside(path: string, given: string, folder: string): Promise<void> {
  const inside = relative(await realpath(folder), await realpath(path));
  if (!inside.startsWith("..") && !isAbsolute(inside)) return;
  throw new ToolError(
    `The file ${JSON.stringify(cleanText(given, MOST_CHARACTERS))} lies outside of the folder that inputs may name files of, ${folder}`,
    "ask the person who started this server to copy it there, or to name another folder with --files",
  );
}
