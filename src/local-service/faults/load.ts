import { LocalServiceError } from "../errors.ts";
import { readJsonFile } from "../json-file.ts";
import { type FaultRule, faultsBody, type ParsedRule } from "./rules.ts";

/** Rules, with or without a seed, as code or a JSON file has them. */
export type FaultsOption =
  | string
  | readonly FaultRule[]
  | { readonly rules: readonly FaultRule[]; readonly seed?: number };

export interface LoadedFaults {
  readonly rules: readonly ParsedRule[];
  readonly seed: number;
}

function readFile(path: string): unknown {
  try {
    return readJsonFile(path);
  } catch (cause) {
    throw new LocalServiceError("OPTION_INVALID", `The faults in ${path} cannot be read as JSON (${String(cause)}).`, {
      cause,
    });
  }
}

/** @throws LocalServiceError `OPTION_INVALID` that names the first field that is wrong */
export function loadFaults(option: FaultsOption): LoadedFaults {
  const value = typeof option === "string" ? readFile(option) : option;
  const parsed = faultsBody.safeParse(Array.isArray(value) ? { rules: value } : value);
  if (parsed.success) return { rules: parsed.data.rules, seed: parsed.data.seed ?? 0 };
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") ?? "";
  throw new LocalServiceError(
    "OPTION_INVALID",
    `The fault ${where} is not understood: ${issue?.message ?? "bad value"}.`,
  );
}
