import type { EarlierView, StepView } from "../../views/document.ts";
import { get, runPath } from "../state/api.ts";
import { useLoaded } from "./hooks.ts";

const none: readonly EarlierView[] = [];

export function useEarlier(runId: string, { path, startedAt }: StepView): readonly EarlierView[] {
  const address = `${runPath(runId)}/earlier?path=${encodeURIComponent(path)}`;
  const loaded = useLoaded((signal) => get<readonly EarlierView[]>(address, signal), [address, startedAt]);
  return loaded.state === "ready" ? loaded.value : none;
}

export function earlierLabel({ step, attempt }: EarlierView): string {
  return `${step}, earlier attempt ${attempt}`;
}
