import { createRequire } from "node:module";

const load = createRequire(import.meta.url);

/** Loads undici only at the first request, because it accounts for half of the client's load time. */
export const undici = () => load("undici") as typeof import("undici");

export const CONNECT_MS = 10_000;
