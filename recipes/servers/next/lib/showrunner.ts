import { openShowrunner, type Showrunner } from "showrunner";

/** Keeps one instance per process: in development, Next reloads a route's module when it changes. */
const shared = globalThis as typeof globalThis & { __showrunner?: Promise<Showrunner> };

export function showrunner(): Promise<Showrunner> {
  shared.__showrunner ??= openShowrunner();
  return shared.__showrunner;
}
