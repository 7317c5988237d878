import type { ClientReport, InlinedRun } from "../../views/document.ts";

/** The run of a report: a file that holds the page and all it would ask for, with no server behind it. Null elsewhere. */
export const inlined: InlinedRun | null = read("inlined-run");

/** What a report for a client shows. Null elsewhere. */
export const clientReport: ClientReport | null = read("client-report");

/** Media stand in an element of their own, each once; where they are shown their keys are named. */
function read<T>(of: string): T | null {
  const [data, media] = [of, "inlined-media"].map((id) => document.getElementById(id)?.textContent);
  if (data == null || media == null) return null;
  const urls = JSON.parse(media) as Readonly<Record<string, string>>;
  return JSON.parse(data, (name, value) => (name === "url" && Object.hasOwn(urls, value) ? urls[value] : value));
}

/** The server's answer, as it was when the report was written. */
export function inlinedAnswer({ answers }: InlinedRun, path: string): unknown {
  const [, name = ""] = /^\/api\/runs\/[^/]+\/(.*?)(?:\?rows=\d+)?$/.exec(path) ?? [];
  return Object.hasOwn(answers, name) ? answers[name] : null;
}
