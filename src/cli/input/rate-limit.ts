import { CliError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";

/** `600/60`: requests and the seconds that they are counted in. Throws {@link CliError}. */
export function parseRateLimit(text: string): { readonly requests: number; readonly windowMs: number } {
  const [, requests, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,6})$/.exec(text) ?? [];
  if (requests && seconds) return { requests: Number(requests), windowMs: Number(seconds) * 1000 };
  throw new CliError("USAGE", `--rate-limit ${visible(text)} is no limit`, {
    next: "write requests and seconds: --rate-limit 600/60",
  });
}
