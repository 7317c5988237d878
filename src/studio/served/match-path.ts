import { isRunId } from "../../internal.ts";
import { notFound } from "./refusal.ts";

interface Routed {
  readonly method: string;
  readonly path: string;
}

/** Finds the route of a request, with the parts of the path that it names. HEAD is routed as GET. @throws Refusal 404 */
export function routeOf<R extends Routed>(routes: readonly R[], { method, path }: Routed) {
  for (const route of routes) {
    const params = route.method === (method === "HEAD" ? "GET" : method) ? matchPath(route.path, path) : null;
    if (params === null) continue;
    // No store is asked for an id that no run can have: the store may not even accept the text.
    if (params.run !== undefined && !isRunId(params.run)) throw notFound("This run");
    return { route, params };
  }
  throw notFound("This address");
}

/** Returns the named parts of a path, or null where it does not match. A segment may hold encoded slashes. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const requested = pattern.split("/");
  const given = path.split("/");
  if (requested.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, segment] of requested.entries()) {
    const part = decoded(given[index]!);
    if (part === null) return null;
    if (segment.startsWith(":")) params[segment.slice(1)] = part;
    else if (segment !== part) return null;
  }
  return params;
}

/** Returns null for malformed percent-encoding. */
export function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
