import { CliError } from "../cli-error.ts";
import { mediaOptionsOf, type ServiceFlags } from "../context.ts";
import { explainError } from "../explain-error.ts";
import { duration } from "../input/flag-values.ts";
import type { Io } from "../io.ts";
import { visible } from "../text/escape.ts";
import { type Finding, failed, fine } from "./finding.ts";

/** Servers refuse requests whose time is further off than 15 minutes; a bucket's `Date` has whole seconds. */
const MUCH_SKEW_MS = 5 * 60_000;
const NO_SKEW_MS = 2_000;

/** Whether media can be written, read and deleted where flags and environment have them kept; nothing for the default folder. */
export async function mediaFindings(io: Io, flags: ServiceFlags): Promise<readonly Finding[]> {
  const options = mediaOptionsOf(io, flags);
  if (!(options.media || io.env.SHOWRUNNER_MEDIA)) return [];
  try {
    const { checkMedia } = await import("../../index.ts");
    const { location, clockOffsetMs } = await checkMedia(options);
    const can = fine("media", `${visible(location)} can be written, read and deleted from`);
    return clockOffsetMs === null ? [can] : [can, clock(clockOffsetMs)];
  } catch (error) {
    const { message, next } = error instanceof CliError ? error : explainError(error, { env: io.env });
    return [failed("media", message, next)];
  }
}

function clock(offsetMs: number): Finding {
  const off = Math.abs(offsetMs);
  if (off <= NO_SKEW_MS) return fine("bucket clock", "agrees with this machine's");
  const said = `the bucket's clock is ${duration(off)} ${offsetMs > 0 ? "ahead of" : "behind"} this machine's`;
  return off <= MUCH_SKEW_MS
    ? fine("bucket clock", said)
    : failed("bucket clock", said, "set this machine's clock (NTP)");
}
