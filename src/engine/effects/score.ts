import type { Effect } from "./effect.ts";

/** TODO */
export const score: Effect<"score"> = (command) => Promise.reject(new Error(`not there yet: ${command.type}`));
