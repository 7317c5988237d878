import { z } from "zod";

export const MAX_URL_LENGTH = 2048;

/** A destination as a body names it. Where it leads is checked when something is sent. */
export const httpUrl = z.url({ protocol: /^https?$/, error: "is not an http or https URI" }).max(MAX_URL_LENGTH);
