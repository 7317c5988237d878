import { z } from "zod";

export const MAX_URL_LENGTH = 8192;
export const TOO_LONG = `has more than ${MAX_URL_LENGTH} characters`;

/** A destination as a body names it. Its address is checked when something is sent. */
export const httpUrl = z
  .string()
  .max(MAX_URL_LENGTH, { error: TOO_LONG, abort: true })
  .check(z.url({ protocol: /^https?$/, error: "is not an http or https URI" }));
