import { withLauncher } from "../../../../core/kit/launcher.ts";
import type { Gauges, RunPatch, StepProgress, VisitorView, WelcomeView } from "../../views/document.ts";
import { clientReport, get, inlined, Refused, runPath } from "./api.ts";
import { applyPatch, byStep, type RunModel } from "./run-store.ts";
import { createStore, useStore } from "./store.ts";

export type Connection = "connecting" | "live" | "lost" | "locked";

export type LiveRun =
  | { readonly state: "none" | "loading" | "missing" }
  | { readonly state: "broken"; readonly message: string }
  | { readonly state: "ready"; readonly model: RunModel };

export const connection = createStore<Connection>("connecting");
export const gauges = createStore<Gauges | null>(null);
/** The person who uses the page. Until the server responds, every visitor is treated as a viewer. */
export const visitor = createStore<VisitorView>({ role: "viewer" });
const launcher = createStore("showrunner");
if (inlined === null && clientReport === null)
  get<WelcomeView>("/api/visitor").then(
    (welcome) => {
      visitor.set(welcome);
      launcher.set(welcome.launcher);
    },
    () => {},
  );

export const useCommands = () => {
  const name = useStore(launcher);
  return (text: string) => withLauncher(text, name);
};

export const useCanAct = (): boolean => useStore(visitor).role === "operator";

export const listVersion = createStore(0);
export const run = createStore<LiveRun>({ state: "none" });

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;
/** After this time, a hidden page closes its connection, because browsers allow only a few connections per server. */
const HIDDEN_MS = 60_000;

export function follow(requested: string | null): () => void {
  let runId = requested;
  let source: EventSource | null = null;
  let waitMs = FIRST_WAIT_MS;
  let timer = 0;
  let over = false;
  if (inlined !== null) {
    run.set({ state: "ready", model: applyPatch(null, inlined.patch) });
    return () => {};
  }
  run.set({ state: runId === null ? "none" : "loading" });

  const open = () => {
    if (over || source !== null) return;
    const query = new URLSearchParams();
    const view = run.get();
    if (runId !== null) query.set("run", runId);
    if (view.state === "ready") query.set("after", String(view.model.head.seq));
    const here = new EventSource(`/api/live?${query}`);
    source = here;
    here.onopen = () => {
      connection.set("live");
      waitMs = FIRST_WAIT_MS;
    };
    here.onerror = () => {
      if (over) return;
      connection.set("lost");
      if (here.readyState === EventSource.CLOSED) void again();
    };
    on(here, "gauges", (data) => gauges.set(data as Gauges));
    on(here, "runs", () => listVersion.set((version) => version + 1));
    on(here, "run", (data) => take(data as RunPatch));
    on(here, "progress", (data) => {
      const now = run.get();
      if (now.state !== "ready") return;
      run.set({ state: "ready", model: { ...now.model, progress: byStep(data as readonly StepProgress[]) } });
    });
  };

  const take = (patch: RunPatch) => {
    const now = run.get();
    run.set({ state: "ready", model: applyPatch(now.state === "ready" ? now.model : null, patch) });
  };

  const again = async () => {
    shut();
    try {
      await get(runId === null ? "/api/gauges" : runPath(runId));
    } catch (error) {
      if (!(error instanceof Refused) || over) return;
      if (error.status === 401) return connection.set("locked");
      if (error.status === 404 && runId !== null) {
        run.set({ state: "missing" });
        runId = null;
        return open();
      }
      if (error.status !== 0 && run.get().state === "loading") run.set({ state: "broken", message: error.message });
    }
    if (over) return;
    clearTimeout(timer);
    timer = window.setTimeout(open, waitMs);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  };

  const shut = () => {
    source?.close();
    source = null;
  };

  const seen = () => {
    clearTimeout(timer);
    if (document.hidden) timer = window.setTimeout(shut, HIDDEN_MS);
    else open();
  };

  document.addEventListener("visibilitychange", seen);
  open();
  return () => {
    over = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
    shut();
  };
}

function on(source: EventSource, name: string, take: (data: unknown) => void): void {
  source.addEventListener(name, (event) => take(JSON.parse((event as MessageEvent<string>).data)));
}
