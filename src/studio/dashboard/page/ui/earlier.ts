import type { EarlierMedia, PageStep } from "../../views/document.ts";
import { get, runPath } from "../state/api.ts";
import { useLoaded } from "./hooks.ts";

const none: readonly EarlierMedia[] = [];

export function useEarlier(runId: string, { path, startedAt }: PageStep): readonly EarlierMedia[] {
  const address = `${runPath(runId)}/earlier?path=${encodeURIComponent(path)}`;
  const loaded = useLoaded((signal) => get<readonly EarlierMedia[]>(address, signal), [address, startedAt]);
  return loaded.state === "ready" ? loaded.value : none;
}

export function earlierLabel({ step, attempt }: EarlierMedia): string {
  return `${step}, earlier attempt ${attempt}`;
}
