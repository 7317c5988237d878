import { createHash, hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, lstat, mkdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { finished } from "node:stream/promises";
import { openMedia } from "../../../core/engine/index.ts";
import { writeDurably } from "../../../core/kit/files.ts";
import { formatCents, invoiced } from "../../../core/kit/invoice.ts";
import { FoldedRun, type RunView, type StepView } from "../../../core/view/index.ts";
import type { OpenOptions, Showrunner } from "../../../index.ts";
import { mediaHeaders } from "../../served/index.ts";
import { pageFolder } from "../routes/file-routes.ts";
import { givenView, timelineView } from "../routes/read-routes.ts";
import { blankMedia, type PageMedia } from "../views/page-media.ts";
import { stepView } from "../views/page-step.ts";
import { runCosts } from "../views/run-costs.ts";
import { MOST_WHOLE, RunGroups } from "../views/run-groups.ts";
import { runHead } from "../views/run-head.ts";
import { type EventLine, eventLine, stepDetail, usersOf } from "../views/step-detail.ts";

const INLINE_BYTES = 4_000_000;

export interface WriteReportOptions {
  readonly file: string;
  readonly inlineBytes?: number;
  /** `media`, `mediaDir` and `env` are the same as for `openShowrunner`. */
  readonly media?: string | undefined;
  readonly mediaDir: string;
  readonly env?: OpenOptions["env"];
  /**
   * If set, the report is for a client: it has only the files that the run returns and, if `hasPrice` is true, the
   * cost.
   */
  readonly forClient?: { readonly hasPrice: boolean } | undefined;
  readonly writtenAt: number;
  readonly version: string;
}

export interface WrittenReport {
  readonly file: string;
  readonly sizeBytes: number;
  readonly media: PlacedMedia["counts"];
}

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
  if (folded.view === null) throw new Error(`The first event of run ${runId} is missing; the journal is incomplete.`);
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
  // Writes the file atomically, because a browser may be reading the previous version.
  await writeDurably(file, page);
  return { file, sizeBytes: Buffer.byteLength(page), media: placed.counts };
}

function mediaOf({ patch: { head, steps } }: InlinedRun): readonly PageMedia[] {
  return [...steps.flatMap(({ media, decision }) => [...media, ...(decision?.shows ?? [])]), ...head.covers];
}

interface Content {
  readonly id: string;
  readonly title: string;
  readonly version: string;
  readonly data: object;
}

/** Returns the HTML of a report. Its content policy allows no scripts except its own. */
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

const STEERING = /(?![\n\t])[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069\u200E\u200F]|\p{Cs}/gu;

function shown(text: string, mark = "\\u"): string {
  return text.replace(STEERING, (found) => `${mark}${found.codePointAt(0)!.toString(16).padStart(4, "0")}`);
}

function escaped(text: string): string {
  return shown(text).replace(/[&<>"']/g, (found) => `&#${found.codePointAt(0)};`);
}

function json(value: unknown, places?: PlacedMedia["places"]): string {
  const placed = (_name: string, part: unknown) => {
    if (typeof part === "string") return shown(part);
    if (places === undefined || !isMedia(part)) return part;
    return { ...part, ...(places.get(part.url) ?? { url: null, error: "This file is not part of the report." }) };
  };
  // Field names do not pass through `placed`, so the whole text is cleaned again.
  return shown(JSON.stringify(value, placed), "\\\\u").replaceAll("<", "\\u003c");
}

function isMedia(part: unknown): part is { readonly url: string } {
  if (typeof part !== "object" || part === null) return false;
  return "url" in part && "sha256" in part && typeof part.url === "string" && part.url.startsWith("/media/");
}

/** Builds the report for a client. It shows only the returned files, under the names that the pipeline gives them. */
export function clientReport(
  { view }: FoldedRun,
  { writtenAt, hasPrice }: { readonly writtenAt: number; readonly hasPrice: boolean },
) {
  const { state, steps } = view!;
  const returned = steps.flatMap((step) => stepView(view!, step).media.filter(({ name }) => name !== null));
  return {
    title: state.planned.title ?? state.runId,
    writtenAt,
    isComplete: state.status === "succeeded",
    price: hasPrice ? formatCents(invoiced([state.spentMicros], 0n).total) : null,
    media: returned.map(forClient),
  };
}

function forClient(
  { kind, contentType, url, sizeBytes, sha256, durationMs, name, file }: PageMedia,
  at: number,
): PageMedia {
  return { ...blankMedia(name!, at), kind, contentType, url, sizeBytes, sha256, durationMs, name, file };
}

const MOST_STEPS = 1000;
const MOST_LINES = 2000;
const MOST_ROWS = 1000;
const LONGEST_TEXT = 4_000;
const ALL_TEXT = 600_000;
/** Time without events after which an unfinished run has probably lost its process. */
const LONGEST_SILENCE_MS = 10 * 60_000;

interface Written {
  readonly writtenAt: number;
  readonly version: string;
  readonly isInterrupted: boolean;
  readonly lines: readonly EventLine[];
}

export type InlinedRun = ReturnType<typeof inlinedRun>;

function inlinedRun(run: FoldedRun, { writtenAt, version, isInterrupted, lines }: Written) {
  const view = run.view!;
  const { state } = view;
  const { lastAt } = run.history;
  const isMoving = state.status === "running" && !isInterrupted;
  const now = isMoving ? Math.max(lastAt, Math.min(writtenAt, lastAt + LONGEST_SILENCE_MS)) : lastAt;
  const groups = state.planned.plan.steps.length > MOST_WHOLE ? new RunGroups(view) : null;
  const steps = groups === null ? [...view.steps, ...view.removed] : shownSteps(view, groups.shown());
  const answers: Readonly<Record<string, unknown>> = {
    costs: runCosts(view),
    given: givenView(view),
    timeline: timelineView(run, MOST_ROWS),
    ...details(view, shownSteps(view, new Set()), lines),
  };
  const row = { updatedAt: now, status: isInterrupted ? "interrupted" : state.status };
  return {
    now,
    writtenAt,
    version,
    patch: {
      full: true,
      head: runHead(view, { row, driveError: null, drivenHere: false, counts: groups?.counts() }),
      groups: groups?.views() ?? null,
      steps: steps.map((step) => stepView(view, step)),
      events: lines.slice(-MOST_LINES),
      progress: [],
    },
    /** Server responses, by the part of the URL after the run's id. */
    answers,
  };
}

const settled: ReadonlySet<string> = new Set(["succeeded", "skipped", "waiting"]);

/** Chooses the steps to show. In a large run, prefers failed and active steps, then those with files. */
function shownSteps(view: RunView, requested: ReadonlySet<string>): readonly StepView[] {
  const steps = [...view.steps, ...view.removed];
  if (steps.length <= MOST_STEPS) return steps;
  const makers = new Set(view.state.files.map(({ step }) => step));
  const rank = ({ status, path }: StepView) => {
    if (!settled.has(status)) return 0;
    return makers.has(path) ? 1 : requested.has(path) ? 2 : 3;
  };
  const chosen = new Set(steps.toSorted((a, b) => rank(a) - rank(b)).slice(0, MOST_STEPS));
  return steps.filter((step) => chosen.has(step));
}

function details(
  view: RunView,
  steps: readonly StepView[],
  lines: readonly EventLine[],
): Readonly<Record<string, unknown>> {
  const events = Map.groupBy(lines, ({ step }) => step);
  const usedBy = usersOf(view);
  const mostText = Math.min(LONGEST_TEXT, Math.max(80, Math.floor(ALL_TEXT / Math.max(1, steps.length))));
  const each = steps.map((step) => {
    const own = { events: events.get(step.path) ?? [], usedBy, mostText };
    return [`step?path=${encodeURIComponent(step.path)}`, stepDetail(view, step, own)] as const;
  });
  return Object.fromEntries(each);
}

/** Media store. Files are looked up by hash, because paths from a journal are not trusted. */
type Store = Pick<Showrunner["media"], "sizeOf" | "hold">;

type PlacedMedia = Awaited<ReturnType<typeof placeMedia>>;

interface Shown extends PageMedia {
  readonly url: string;
  readonly sha256: string;
}

const SMALL_BYTES = 700_000;
const MOST_FILES = 500;
const MOST_OTHERS = 1000;

/** Embeds the smallest files that fit into `inlineBytes`, and links to the others. */
async function placeMedia(
  media: readonly PageMedia[],
  { pagePath, inlineBytes, outDir, store }: { pagePath: string; inlineBytes: number; outDir: string; store: Store },
) {
  const places = new Map<string, Pick<PageMedia, "url" | "error">>();
  const inline: Record<string, string> = {};
  const counts = { inline: 0, beside: 0, missing: 0 };
  let bytesLeft = inlineBytes;
  const embed = async ({ url, sha256, contentType }: Shown, path: string, sizeBytes: number) => {
    const name = `inline:${sha256}`;
    if (!Object.hasOwn(inline, name)) {
      bytesLeft -= sizeBytes;
      inline[name] = `data:${mediaHeaders(contentType).contentType};base64,${await readFile(path, "base64")}`;
    }
    places.set(url, { url: name, error: null });
  };
  const shown = [...new Map(media.filter(isShown).map((one) => [one.url, one])).values()];
  const sized: (readonly [Shown, number | null])[] = [];
  for (const one of shown.filter(({ file }) => file !== null).slice(0, MOST_FILES))
    sized.push([one, await sizeOf(one, store)]);
  for (const [one, sizeBytes] of sized.toSorted(([, a], [, b]) => (a ?? 0) - (b ?? 0))) {
    const { url, sha256, kind, file } = one;
    await using held = sizeBytes === null ? null : await store.hold([sha256]);
    const path = held?.path(sha256) ?? null;
    if (path === null || sizeBytes === null || !(await holds(path, sha256))) {
      counts.missing += 1;
      places.set(url, { url: null, error: `No copy of this file is left; it was stored at ${join(outDir, file!)}` });
    } else if (sizeBytes <= bytesLeft && kind !== "other") {
      counts.inline += 1;
      await embed(one, path, sizeBytes);
    } else {
      counts.beside += 1;
      places.set(url, { url: await besideUrl(path, { one, sizeBytes, pagePath }), error: null });
    }
  }
  for (const one of shown.filter(({ url }) => !places.has(url)).slice(0, MOST_OTHERS)) {
    const sizeBytes = one.kind === "other" ? null : await sizeOf(one, store);
    if (sizeBytes === null || sizeBytes > Math.min(bytesLeft, SMALL_BYTES)) continue;
    await using held = await store.hold([one.sha256]);
    const path = held.path(one.sha256);
    if (await holds(path, one.sha256)) await embed(one, path, sizeBytes);
  }
  return { places, inline, counts };
}

function isShown(media: PageMedia): media is Shown {
  return media.url !== null && media.sha256 !== null;
}

async function sizeOf({ sha256 }: Shown, store: Store): Promise<number | null> {
  return /^[0-9a-f]{64}$/.test(sha256) ? store.sizeOf(sha256) : null;
}

/** Returns whether a file's content has this hash. An untrusted store could contain any file under the hash. */
async function holds(path: string, sha256: string): Promise<boolean> {
  const hash = createHash("sha256");
  const read = finished(createReadStream(path).on("data", (piece) => hash.update(piece)));
  return read.then(
    () => hash.digest("hex") === sha256,
    () => false,
  );
}

async function besideUrl(
  path: string,
  { one: { file, sha256 }, sizeBytes, pagePath }: { one: Shown; sizeBytes: number; pagePath: string },
): Promise<string> {
  const folder = await realpath(dirname(pagePath));
  const named = resolve(folder, file!);
  // Symbolic links can leave the folder, and pipes may never end.
  const found = named.startsWith(folder + sep) ? await lstat(named).catch(() => null) : null;
  if (found?.isFile() && found.size === sizeBytes) return urlOf(relative(folder, named));
  const besides = join(folder, `${basename(pagePath).replace(/\.html?$/i, "")}-files`);
  const requested = resolve(besides, file!);
  const target = requested.startsWith(besides + sep) ? requested : join(besides, sha256);
  await mkdir(dirname(target), { recursive: true });
  await copyFile(path, target);
  return urlOf(relative(folder, target));
}

function urlOf(path: string): string {
  return path.split(sep).map(encodeURIComponent).join("/");
}
