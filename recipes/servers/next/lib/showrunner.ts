import { openShowrunner, type Showrunner } from "showrunner";

/** One for the process: Next loads a route's module anew when it changes in development. */
const shared = globalThis as typeof globalThis & { __showrunner?: Promise<Showrunner> };

export function showrunner(): Promise<Showrunner> {
  shared.__showrunner ??= openShowrunner();
  return shared.__showrunner;
}
