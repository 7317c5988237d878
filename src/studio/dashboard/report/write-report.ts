import { hash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { writeDurably } from "../../../core/kit/durable-file.ts";
import { FoldedRun, formatCents, invoiced, type MediaOptions, openMedia, type Showrunner } from "../../../internal.ts";
import { pageFolder } from "../routes/file-routes.ts";
import { blankMedia } from "../views/blank-media.ts";
import type { ClientReport, EventLine, InlinedRun, MediaView } from "../views/run-wire.ts";
import { eventLine } from "../views/step-detail.ts";
import { stepView } from "../views/step-view.ts";
import { inlinedRun } from "./inlined-run.ts";
import { type PlacedMedia, placeMedia } from "./place-media.ts";

/** Media within the page, all together. */
const INLINE_BYTES = 4_000_000;

export interface WriteReportOptions {
  /** The HTML file. */
  readonly file: string;
  /** Media that may stand in the page itself, bytes in all. Default 4 000 000; the others stay beside it. */
  readonly inlineBytes?: number;
  /** Where all media of the page come from; as the options of these names of `openShowrunner`. */
  readonly media?: string | undefined;
  readonly mediaDir: string;
  readonly env?: MediaOptions["env"];
  /** For a client: the returned files alone, with what they cost where `hasPrice` says so. Default: the whole run. */
  readonly forClient?: { readonly hasPrice: boolean } | undefined;
  /** Epoch milliseconds, shown in the page. */
  readonly writtenAt: number;
  /** Showrunner's own version, shown in the page. */
  readonly version: string;
}

export interface WrittenReport {
  /** Absolute path of the page. */
  readonly file: string;
  readonly sizeBytes: number;
  /** How many returned files are embedded in the page, stored beside it, or missing. */
  readonly media: PlacedMedia["counts"];
}

/**
 * Writes the dashboard's page of a run into one file, with all that it would ask the server for. Throws what `show` and
 * `events` throw, and Node's own errors of the file system.
 */
export async function writeReport(
  show: Pick<Showrunner, "show" | "events">,
  runId: string,
  options: WriteReportOptions,
): Promise<WrittenReport> {
  const { writtenAt, version, inlineBytes = INLINE_BYTES } = options;
  const folded = new FoldedRun();
  const lines: EventLine[] = [];
  for await (const event of show.events(runId)) {
    folded.add(event);
    lines.push(eventLine(event));
  }
  if (folded.view === null) throw new Error(`Run ${runId} has no first event; is its journal whole?`);
  const isInterrupted = (await show.show(runId)).status === "interrupted";
  const client = options.forClient && clientReport(folded, { writtenAt, ...options.forClient });
  const run = inlinedRun(folded, { writtenAt, version, isInterrupted, lines });
  const file = resolve(options.file);
  await mkdir(dirname(file), { recursive: true });
  const placed = await placeMedia(client?.media ?? mediaOf(run), {
    pagePath: file,
    inlineBytes,
    outDir: run.patch.head.outDir,
    store: await openMedia({ ...options, isReadOnly: true }),
  });
  const { pipeline, status, id } = run.patch.head;
  const page =
    client === undefined
      ? await reportPage({ id: "inlined-run", title: `${pipeline} · ${status} · ${id}`, version, data: run }, placed)
      : await reportPage({ id: "client-report", title: client.title, version, data: client }, placed);
  // Written atomically: a browser may be reading the previous one.
  await writeDurably(file, page);
  return { file, sizeBytes: Buffer.byteLength(page), media: placed.counts };
}

function mediaOf({ patch: { head, steps } }: InlinedRun): readonly MediaView[] {
  return [...steps.flatMap(({ media, decision }) => [...media, ...(decision?.shows ?? [])]), ...head.covers];
}

interface Content {
  /** Of the element that holds the data. */
  readonly id: string;
  readonly title: string;
  readonly version: string;
  readonly data: object;
}

/** The page as the dashboard serves it, in one document that asks nobody for anything and runs no script but its own. */
async function reportPage({ id, title, version, data }: Content, { places, inline }: PlacedMedia): Promise<string> {
  const { script, style } = await builtParts();
  const isBeside = [...places.values()].some(({ url }) => url !== null && !Object.hasOwn(inline, url));
  const media = isBeside ? "data: 'self' file:" : "data:";
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${hash("sha256", script, "base64")}'`,
    `style-src 'sha256-${hash("sha256", style, "base64")}'`,
    "font-src data:",
    `img-src ${media}`,
    `media-src ${media}`,
    "base-uri 'none'",
    "form-action 'none'",
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Showrunner ${escaped(version)}">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This report needs JavaScript.</noscript>
<script type="application/json" id="inlined-media">${json(inline)}</script>
<script type="application/json" id="${id}">${json(data, places)}</script>
<script type="module">${script}</script>
</body>
</html>
`;
}

/** Script and style of the built page; the style with its fonts in it. */
async function builtParts(): Promise<{ readonly script: string; readonly style: string }> {
  const folder = await pageFolder();
  const index = await readFile(join(folder, "index.html"), "utf8");
  const asset = async (name: RegExp) => readFile(join(folder, name.exec(index)![1]!), "utf8");
  const script = await asset(/src="\/(assets\/[\w.-]+\.js)"/);
  let style = await asset(/href="\/(assets\/[\w.-]+\.css)"/);
  for (const [url, font] of style.matchAll(/url\(\/(assets\/[\w.-]+\.woff2)\)/g)) {
    style = style.replace(url, `url(data:font/woff2;base64,${await readFile(join(folder, font!), "base64")})`);
  }
  return { script: script.replaceAll("</script", "<\\/script"), style };
}

/** What would steer a terminal that prints the page, or turn the order of what is read. */
const STEERING = /(?![\n\t])[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069\u200E\u200F]|\p{Cs}/gu;

function shown(text: string, mark = "\\u"): string {
  return text.replace(STEERING, (found) => `${mark}${found.codePointAt(0)!.toString(16).padStart(4, "0")}`);
}

function escaped(text: string): string {
  return shown(text).replace(/[&<>"']/g, (found) => `&#${found.codePointAt(0)};`);
}

/** JSON that ends no element; each address of media is replaced by its place, or by nothing. */
function json(value: unknown, places?: PlacedMedia["places"]): string {
  const placed = (_name: string, part: unknown) => {
    if (typeof part === "string") return shown(part);
    if (places === undefined || !isMedia(part)) return part;
    return { ...part, ...(places.get(part.url) ?? { url: null, error: "Not part of this report." }) };
  };
  // Names of fields are not among the parts above.
  return shown(JSON.stringify(value, placed), "\\\\u").replaceAll("<", "\\u003c");
}

function isMedia(part: unknown): part is { readonly url: string } {
  if (typeof part !== "object" || part === null) return false;
  return "url" in part && "sha256" in part && typeof part.url === "string" && part.url.startsWith("/media/");
}

/** What a run returned, by the names that its pipeline gives, and nothing else of it. */
export function clientReport(
  { view }: FoldedRun,
  { writtenAt, hasPrice }: { readonly writtenAt: number; readonly hasPrice: boolean },
): ClientReport {
  const { state, steps } = view!;
  const returned = steps.flatMap((step) => stepView(state, step).media.filter(({ name }) => name !== null));
  return {
    title: state.planned.title ?? state.runId,
    writtenAt,
    isComplete: state.status === "succeeded",
    price: hasPrice ? formatCents(invoiced([state.spentMicros], 0n).total) : null,
    media: returned.map(forClient),
  };
}

function forClient(
  { kind, contentType, url, sizeBytes, sha256, durationMs, name, file }: MediaView,
  at: number,
): MediaView {
  return { ...blankMedia(name!, at), kind, contentType, url, sizeBytes, sha256, durationMs, name, file };
}
