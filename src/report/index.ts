import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { writeDurably } from "../durable-file.ts";
import { FoldedRun, type MediaOptions, openMedia, type Showrunner } from "../index.ts";
import { reportFacts } from "./facts.ts";
import { inlineBytesOf, placeIntermediate, placeMedia } from "./media.ts";
import { reportPage } from "./page/page.ts";

export { type ReportFacts, reportFacts } from "./facts.ts";
export { reportPage } from "./page/page.ts";

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
  /** Epoch milliseconds, shown in the page. */
  readonly writtenAt: number;
  /** Showrunner's own version, shown in the page. */
  readonly version: string;
}

export interface WrittenReport {
  /** Absolute path of the page. */
  readonly file: string;
  readonly sizeBytes: number;
  /** How many media are embedded in the page, stored beside it, or missing. */
  readonly media: { readonly inline: number; readonly beside: number; readonly missing: number };
}

/** Writes a run's report. Throws what `show` and `events` throw, and Node's own errors of the file system. */
export async function writeReport(
  show: Pick<Showrunner, "show" | "events">,
  runId: string,
  options: WriteReportOptions,
): Promise<WrittenReport> {
  const folded = new FoldedRun();
  for await (const event of show.events(runId)) folded.add(event);
  const facts = reportFacts(await show.show(runId), folded, options.writtenAt);
  const file = resolve(options.file);
  await mkdir(dirname(file), { recursive: true });
  const inlineBytes = options.inlineBytes ?? INLINE_BYTES;
  const store = await openMedia(options);
  const media = await placeMedia(facts, file, { inlineBytes, media: store });
  const others = await placeIntermediate(facts, store, inlineBytes - inlineBytesOf(media));
  const page = reportPage(facts, new Map([...media, ...others]), options);
  // Written atomically: a browser may be reading the previous one.
  await writeDurably(file, page);
  const types = [...media.values()].map(({ type }) => type);
  const countOf = (requested: string) => types.filter((type) => type === requested).length;
  return {
    file,
    sizeBytes: Buffer.byteLength(page),
    media: { inline: countOf("inline"), beside: countOf("beside"), missing: countOf("missing") },
  };
}
