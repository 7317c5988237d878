import { parseJson } from "../../core/kit/json-text.ts";
import type { Json, ResumeOptions } from "../../internal.ts";
import { CliError } from "../cli-error.ts";
import type { Io } from "../io.ts";
import { visible } from "../text/escape.ts";
import { readTextOrFile } from "./read-input.ts";

/** `step:field=text`, `step:field:=json` and `step:field=@file`, repeated, as `resume` takes them; undefined: none. */
export async function readEdits(flags: readonly string[] | undefined, io: Io): Promise<ResumeOptions["edit"]> {
  if (flags === undefined) return undefined;
  const edits = new Map<string, Record<string, Json>>();
  for (const flag of flags) {
    const [, step, field, sign, text = ""] = /^([^:=]+):([^:=]+?)(:?=)([\s\S]*)$/.exec(flag) ?? [];
    if (step === undefined || field === undefined) {
      throw new CliError("USAGE", `--edit ${visible(flag)} names no step, field and value`, {
        next: "write --edit step:field=text or --edit step:field:=json, e.g. --edit still:prompt='A red boat'",
      });
    }
    const value = sign === "=" ? await readTextOrFile("--edit", text, io) : jsonOf(text, `${step}:${field}`);
    const before = edits.get(step) ?? {};
    edits.set(step, { ...before, [field]: value });
  }
  return Object.fromEntries(edits);
}

function jsonOf(text: string, name: string): Json {
  const outcome = parseJson(text);
  if ("value" in outcome) return outcome.value as Json;
  throw new CliError("USAGE", `--edit ${visible(name)} is not valid JSON: ${visible(outcome.mistake.message)}`, {
    next: `for text write --edit ${visible(name)}=TEXT`,
  });
}
