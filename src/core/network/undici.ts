import { createRequire } from "node:module";

const load = createRequire(import.meta.url);

/** Loaded at the first request: it would be half of what loading the client takes. */
export const undici = () => load("undici") as typeof import("undici");

export const CONNECT_MS = 10_000;
