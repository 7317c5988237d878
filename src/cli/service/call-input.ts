import { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { readInput } from "../input/read-input.ts";
import { type CallFlags, textFlag } from "./call.ts";

/** A model's input from `--input` and `-i`; it is an object. */
export async function readCallInput(flags: CallFlags, { io }: Context): Promise<Readonly<Record<string, unknown>>> {
  const assignments = Array.isArray(flags.i) ? flags.i.filter((one): one is string => typeof one === "string") : [];
  const input = await readInput({ input: textFlag(flags, "input"), assignments }, io.cwd);
  if (isObject(input)) return input;
  throw new CliError("INPUT_INVALID", "a model's input is an object", {
    next: `--input '{"prompt": "…"}', or -i prompt="…"`,
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
