import { inlined } from "./api.ts";
import { createStore, useStore } from "./store.ts";

export type Tab = "graph" | "results" | "timeline" | "costs" | "log" | "about";
export const TABS: readonly Tab[] = ["graph", "results", "timeline", "costs", "log", "about"];

export type Route =
  | { readonly screen: "runs"; readonly search: string; readonly status: string | null }
  | {
      readonly screen: "run";
      readonly id: string;
      readonly tab: Tab;
      readonly step: string | null;
      readonly group: string | null;
    }
  | {
      readonly screen: "review";
      readonly search: string;
      readonly run: string | null;
      readonly pipeline: string | null;
      readonly tag: string | null;
      /** The decision to show, as `run/step`. If null, the first decision is shown. */
      readonly at: string | null;
    }
  | { readonly screen: "plan" }
  | { readonly screen: "costs" }
  | { readonly screen: "unknown" };

const reviewed = ["run", "pipeline", "tag", "at"] as const;

const route = createStore<Route>(readRoute());
window.addEventListener("popstate", () => route.set(readRoute()));

/**
 * Returns the path of the current screen. In a report, the path comes from the URL's fragment. Without one, it is the
 * path of the run's first screen.
 */
function address(): string {
  if (inlined === null) return location.pathname + location.search;
  if (location.hash.startsWith("#/runs/")) return location.hash.slice(1);
  const { head, steps } = inlined.patch;
  return runHref(head.id, steps.some(({ media }) => media.length > 0) ? "results" : "graph");
}

function readRoute(): Route {
  const [path = "", search] = address().split("?", 2);
  const [first = "", second, third, ...rest] = path.split("/").slice(1).map(decodeURIComponent);
  const query = new URLSearchParams(search);
  if (first === "") return { screen: "runs", search: query.get("q") ?? "", status: query.get("status") };
  if (first === "review" && second === undefined) {
    const [run = null, pipeline = null, tag = null, at = null] = reviewed.map((name) => query.get(name));
    return { screen: "review", search: query.get("q") ?? "", run, pipeline, tag, at };
  }
  if (first === "plan" && second === undefined) return { screen: "plan" };
  if (first === "costs" && second === undefined) return { screen: "costs" };
  if (first !== "runs" || !second || rest.length > 0) return { screen: "unknown" };
  const tab = TABS.find((name) => name === third) ?? "graph";
  return { screen: "run", id: second, tab, step: query.get("step"), group: query.get("group") };
}

export function useRoute(): Route {
  return useStore(route);
}

export function go(href: string, how: "push" | "replace" = "push"): void {
  if (href === address()) return;
  history[how === "push" ? "pushState" : "replaceState"](null, "", inlined === null ? href : `#${href}`);
  route.set(readRoute());
}

export function runsHref({ search, status }: { readonly search: string; readonly status: string | null }): string {
  const query = new URLSearchParams({ ...(search !== "" && { q: search }), ...(status !== null && { status }) });
  return query.size === 0 ? "/" : `/?${query}`;
}

export function reviewHref({
  search = "",
  ...chosen
}: Partial<Omit<Extract<Route, { readonly screen: "review" }>, "screen">>): string {
  const query = new URLSearchParams(search === "" ? {} : { q: search });
  for (const name of reviewed) {
    const value = chosen[name];
    if (value) query.set(name, value);
  }
  return query.size === 0 ? "/review" : `/review?${query}`;
}

export function runHref(
  id: string,
  tab: Tab = "graph",
  open: { readonly step?: string | null; readonly group?: string | null } = {},
): string {
  const query = new URLSearchParams();
  if (open.step) query.set("step", open.step);
  if (open.group) query.set("group", open.group);
  const text = query.toString();
  return `/runs/${encodeURIComponent(id)}${tab === "graph" ? "" : `/${tab}`}${text === "" ? "" : `?${text}`}`;
}
