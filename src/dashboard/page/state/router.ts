import { createStore, useStore } from "./store.ts";

export type Tab = "graph" | "results" | "timeline" | "costs" | "log";
export const TABS: readonly Tab[] = ["graph", "results", "timeline", "costs", "log"];

export type Route =
  | { readonly screen: "runs" }
  | {
      readonly screen: "run";
      readonly id: string;
      readonly tab: Tab;
      readonly step: string | null;
      readonly group: string | null;
    }
  | { readonly screen: "plan" }
  | { readonly screen: "costs" }
  | { readonly screen: "service" }
  | { readonly screen: "unknown" };

const route = createStore<Route>(readRoute());
window.addEventListener("popstate", () => route.set(readRoute()));

function readRoute(): Route {
  const [first = "", second, third, ...rest] = location.pathname.split("/").slice(1).map(decodeURIComponent);
  const query = new URLSearchParams(location.search);
  if (first === "") return { screen: "runs" };
  if (first === "plan" && second === undefined) return { screen: "plan" };
  if (first === "costs" && second === undefined) return { screen: "costs" };
  if (first === "service" && second === undefined) return { screen: "service" };
  if (first !== "runs" || !second || rest.length > 0) return { screen: "unknown" };
  const tab = TABS.find((name) => name === third) ?? "graph";
  return { screen: "run", id: second, tab, step: query.get("step"), group: query.get("group") };
}

export function useRoute(): Route {
  return useStore(route);
}

/** Goes to an address of the page. `replace`: the one before does not come back with the back button. */
export function go(href: string, how: "push" | "replace" = "push"): void {
  if (href === location.pathname + location.search) return;
  history[how === "push" ? "pushState" : "replaceState"](null, "", href);
  route.set(readRoute());
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
