import { dollars } from "../../money.ts";
import { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { confirm } from "../input/confirm.ts";
import { readInput } from "../input/read-input.ts";
import { type Call, type CallFlags, textFlag } from "./spec.ts";

/** A model's input from `--input` and `-i`; it is an object. */
export async function readCallInput(flags: CallFlags, { io }: Context): Promise<Readonly<Record<string, unknown>>> {
  const i = Array.isArray(flags.i) ? flags.i.filter((one): one is string => typeof one === "string") : [];
  const input = await readInput({ input: textFlag(flags, "input"), i }, io.cwd);
  if (isObject(input)) return input;
  throw new CliError("INPUT_INVALID", "a model's input is an object", {
    next: `--input '{"prompt": "…"}', or -i prompt="…"`,
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A paid call on a hosted service needs `--yes`, or a yes on the terminal. */
export async function confirmPrice(
  { kind, flags, context }: Call,
  costMicros: number | null,
  again: string,
): Promise<void> {
  if (kind === "local" || flags.yes === true) return;
  const price = costMicros === null ? "an amount that cannot be quoted" : dollars(costMicros);
  const what = `This spends real money (${price})`;
  const refused = "Not sent; nothing was spent";
  await confirm(context.io, { yes: false, question: `Spend ${price}?`, what, refused, next: again });
}
