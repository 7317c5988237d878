import type { Effect } from "./effect.ts";

/** TODO */
export const expand: Effect<"expand"> = (command) => Promise.reject(new Error(`not there yet: ${command.type}`));
