import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { EarlierMedia, PageStep, StepsPage } from "../../views/document.ts";
import { get, inlined, runPath } from "../state/api.ts";
import type { RunModel } from "../state/run-store.ts";

export function useNow(active: boolean): number {
  const [now, setNow] = useState(() => inlined?.now ?? Date.now());
  useEffect(() => {
    if (!active || inlined !== null) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [active]);
  return now;
}

type Loaded<T> =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly error: Error }
  | { readonly state: "ready"; readonly value: T };

/** Loads a result when `on` changes. Keeps the earlier result until the new one arrives. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, on: readonly unknown[]): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading" });
  useEffect(() => {
    const stop = new AbortController();
    load(stop.signal).then(
      (value) => !stop.signal.aborted && setLoaded({ state: "ready", value }),
      (error: Error) => !stop.signal.aborted && setLoaded({ state: "failed", error }),
    );
    return () => stop.abort();
  }, on);
  return loaded;
}

export function useThrottled<T>(value: T, everyMs: number): T {
  const [throttled, setThrottled] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, last.current + everyMs - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      setThrottled(value);
    }, wait);
    return () => clearTimeout(timer);
  }, [value]);
  return throttled;
}

export interface Box {
  readonly width: number;
  readonly height: number;
}

export function useSize<E extends HTMLElement>() {
  const ref = useRef<E>(null);
  const [size, setSize] = useState<Box>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, size] as const;
}

export function useKeys(keys: Readonly<Record<string, (event: KeyboardEvent) => void>>): void {
  const latest = useRef(keys);
  latest.current = keys;
  // Uses a layout effect, because an effect runs only after the paint, and a key pressed before then would be lost.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const at = event.target as HTMLElement;
      const isTyping = at.matches("input, textarea, select") || at.isContentEditable;
      if (isTyping && event.key !== "Escape") return;
      if (document.querySelector("dialog[open]") !== null) return;
      latest.current[event.key]?.(event);
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}

const STEPS_A_PAGE = 200;
const empty: StepsPage = { total: 0, steps: [] };

interface StepList extends StepsPage {
  readonly more: (() => void) | null;
}

export function useSteps(
  { head, steps, groups }: RunModel,
  query: Readonly<Record<string, string>>,
  isListed: (step: PageStep) => boolean,
): StepList {
  const [limit, setLimit] = useState(STEPS_A_PAGE);
  const seq = useThrottled(head.seq, 1000);
  const isLarge = groups !== null && inlined === null;
  const text = new URLSearchParams({ ...query, limit: String(limit) }).toString();
  const path = `${runPath(head.id)}/steps?${text}`;
  const loaded = useLoaded(
    (signal) => (isLarge ? get<StepsPage>(path, signal) : Promise.resolve(empty)),
    [path, isLarge ? seq : 0],
  );
  if (!isLarge) {
    const listed = [...steps.values()].filter(isListed);
    return { total: listed.length, steps: listed, more: null };
  }
  const page = loaded.state === "ready" ? loaded.value : empty;
  return { ...page, more: page.steps.length < page.total ? () => setLimit(limit + STEPS_A_PAGE) : null };
}

/** Returns the step. In a large run, returns undefined until the step is loaded. */
export function useStep({ head, steps, groups }: RunModel, path: string | null): PageStep | undefined {
  const known = path === null ? undefined : steps.get(path);
  const isMissing = groups !== null && inlined === null && path !== null && known === undefined;
  const seq = useThrottled(head.seq, 1000);
  const loaded = useLoaded(
    (signal) =>
      isMissing
        ? get<StepsPage>(`${runPath(head.id)}/steps?path=${encodeURIComponent(path)}`, signal)
        : Promise.resolve(empty),
    [head.id, path, isMissing ? seq : 0],
  );
  return known ?? (loaded.state === "ready" ? loaded.value.steps.find((step) => step.path === path) : undefined);
}

const none: readonly EarlierMedia[] = [];

export function useEarlier(runId: string, { path, startedAt }: PageStep): readonly EarlierMedia[] {
  const address = `${runPath(runId)}/earlier?path=${encodeURIComponent(path)}`;
  const loaded = useLoaded((signal) => get<readonly EarlierMedia[]>(address, signal), [address, startedAt]);
  return loaded.state === "ready" ? loaded.value : none;
}

export function earlierLabel({ step, attempt }: EarlierMedia): string {
  return `${step}, earlier attempt ${attempt}`;
}
