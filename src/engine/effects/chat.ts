import type { Effect } from "./effect.ts";

/** TODO */
export const chat: Effect<"chat"> = (command) => Promise.reject(new Error(`not there yet: ${command.type}`));
