import { realpath } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { cleanText } from "../../core/kit/clean-text.ts";
import { isWithin } from "../../core/kit/is-within.ts";
import { ToolError } from "./tool-error.ts";

/** Of a path, in a message. */
const MOST_CHARACTERS = 300;
/** No input of a pipeline is nested deeper; what looks at it calls itself for each level. */
const MOST_LEVELS = 100;
/** The disk is asked for each, and other calls of the session may wait for that. */
const MOST_TEXTS = 20_000;

/**
 * Refuses an input with a text in it that leads outside of the folder: code of the pipeline could read what lies there. One that is
 * absolute or climbs by `..` is refused whether there is such a file or not, so that nobody learns that of this machine. Any other may be
 * plain words, and is refused where the working folder has a file of that name elsewhere. Uploads need no such look, as the Showrunner
 * opens nothing else for them. An agent that follows foreign instructions could otherwise send any file of this machine to the service.
 * @throws ToolError
 */
export async function checkFiles(input: unknown, folder: string): Promise<void> {
  let count = 0;
  let known: Promise<string> | undefined;
  const realFolder = () => (known ??= realpath(folder));
  for (const text of textsIn(input)) {
    count += 1;
    if (count > MOST_TEXTS)
      throw new ToolError(`The input holds more than ${MOST_TEXTS} texts`, "send less at once, in several runs");
    if (text.trim() === "" || text.includes("\0")) continue;
    const path = resolve(text);
    const climbs = isAbsolute(text) || text.split(/[\\/]/).includes("..");
    if (climbs && !isWithin(folder, path) && !isWithin(await realFolder(), path)) throw outside(text, folder);
    // Where a folder is a link, `..` leads from where it leads.
    for (const one of climbs ? [path, text] : [path]) {
      const place = await realpath(one).catch(() => null);
      if (place !== null && !isWithin(await realFolder(), place)) throw outside(text, folder);
    }
  }
}

function* textsIn(value: unknown, level = 0): Generator<string> {
  if (level > MOST_LEVELS)
    throw new ToolError("The input is nested too deeply", "send one that fits the pipeline's schema");
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null)
    for (const inner of Object.values(value)) yield* textsIn(inner, level + 1);
}

function outside(given: string, folder: string): ToolError {
  return new ToolError(
    `The file ${JSON.stringify(cleanText(given, MOST_CHARACTERS))} lies outside of the folder that inputs may name files of, ${folder}`,
    "ask the person who started this server to copy it there, or to name another folder with --files",
  );
}
