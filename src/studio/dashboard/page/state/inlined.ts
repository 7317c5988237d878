import type { ClientReport, InlinedRun } from "../../views/document.ts";

export const inlined: InlinedRun | null = read("inlined-run");

export const clientReport: ClientReport | null = read("client-report");

function read<T>(of: string): T | null {
  const [data, media] = [of, "inlined-media"].map((id) => document.getElementById(id)?.textContent);
  if (data == null || media == null) return null;
  const urls = JSON.parse(media) as Readonly<Record<string, string>>;
  return JSON.parse(data, (name, value) => (name === "url" && Object.hasOwn(urls, value) ? urls[value] : value));
}

export function inlinedAnswer({ answers }: InlinedRun, path: string): unknown {
  const [, name = ""] = /^\/api\/runs\/[^/]+\/(.*?)(?:\?rows=\d+)?$/.exec(path) ?? [];
  return Object.hasOwn(answers, name) ? answers[name] : null;
}
