import type { Effect } from "./effect.ts";

/** TODO */
export const task: Effect<"task"> = (command) => Promise.reject(new Error(`not there yet: ${command.type}`));
