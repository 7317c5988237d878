import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { visibleLines } from "../text/escape.ts";

/** Query parameter that makes Node load a file again. */
export const GENERATION = "showrunner-load";

const ours = new URL("../../", import.meta.url).href;

export function codeFrame(error: Error): string {
  const lines = (error.stack ?? "").replaceAll(new RegExp(`\\?${GENERATION}=\\d+`, "g"), "").split("\n");
  const header = lines.findIndex((line) => line.startsWith(error.name));
  const frame = header > 0 ? lines.slice(0, header) : lines.filter(isUserFrame).slice(0, 1);
  return indented(frame);
}

function isUserFrame(line: string): boolean {
  return /^\s+at .*file:\/\//.test(line) && !line.includes(ours) && !line.includes("/node_modules/");
}

/** Node's error for an unresolved import does not contain the source line. */
export function importFrame(error: Error): string {
  const [, missing = "", importer = ""] = /'([^']+)' imported from (.+)$/m.exec(error.message) ?? [];
  const file = importer.startsWith("file:") ? fileURLToPath(importer) : importer;
  const lines = readLines(file);
  const at = lines.findIndex((line) => {
    const named = [...line.matchAll(/["'`]([^"'`]+)["'`]/g)].map(([, specifier = ""]) => specifier);
    return named.some((name) => packageOf(name) === missing || resolve(dirname(file), name) === missing);
  });
  return at < 0 ? "" : indented([`${file}:${at + 1}`, lines[at]!.trim()]);
}

export function packageOf(specifier: string): string {
  return /^(?:@[^/]*\/)?[^/]*/.exec(specifier)![0];
}

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
}

function indented(lines: readonly string[]): string {
  const shown = lines.filter((line) => line.trim() !== "").map((line) => `\n  ${line.trimEnd()}`);
  return visibleLines(shown.join(""));
}
