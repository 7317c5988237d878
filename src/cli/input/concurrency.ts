import { CliError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";

/** `8`, or limits by name: `total=8,video=2,some-model=1`. */
export function parseConcurrency(text: string): number | Readonly<Record<string, number>> {
  if (/^\d+$/.test(text)) return atLeastOne(text, text);
  const limits: Record<string, number> = {};
  for (const part of text.split(",")) {
    const [name = "", count = ""] = part.split("=");
    limits[name.trim()] = atLeastOne(count, text);
  }
  return limits;
}

function atLeastOne(count: string, whole: string): number {
  const number = Number(count);
  if (/^\d+$/.test(count.trim()) && number >= 1) return number;
  throw new CliError("USAGE", `--concurrency ${visible(whole)} is no limit`, {
    next: "write --concurrency 8, or by modality and model: --concurrency total=8,video=2",
  });
}
