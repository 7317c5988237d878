import type { ClientReport, InlinedRun } from "../../views/document.ts";

/** The run that a report shows; null outside reports. A report is a single file with no server behind it. */
export const inlined: InlinedRun | null = read("inlined-run");

/** The content of a report for a client; null outside such reports. */
export const clientReport: ClientReport | null = read("client-report");

/** Reads the JSON in the element with this id. Media are embedded separately, once each, and found by key. */
function read<T>(of: string): T | null {
  const [data, media] = [of, "inlined-media"].map((id) => document.getElementById(id)?.textContent);
  if (data == null || media == null) return null;
  const urls = JSON.parse(media) as Readonly<Record<string, string>>;
  return JSON.parse(data, (name, value) => (name === "url" && Object.hasOwn(urls, value) ? urls[value] : value));
}

/** Returns the server's response to a request, as it was when the report was written; null if the report has none. */
export function inlinedAnswer({ answers }: InlinedRun, path: string): unknown {
  const [, name = ""] = /^\/api\/runs\/[^/]+\/(.*?)(?:\?rows=\d+)?$/.exec(path) ?? [];
  return Object.hasOwn(answers, name) ? answers[name] : null;
}
