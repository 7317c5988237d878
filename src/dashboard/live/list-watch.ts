import type { JournalStore } from "../../index.ts";
import type { EventStream } from "../http/event-stream.ts";
import type { GaugeReader } from "./gauges.ts";
import { pause } from "./run-watch.ts";

const LOOK_MS = 1000;

/** Tells a page that some run changed, whoever writes it, and what the gauges show. */
export async function watchList(journal: JournalStore, gauges: GaugeReader, stream: EventStream): Promise<void> {
  let runs = "";
  let shown = "";
  while (!stream.signal.aborted) {
    const rows = await journal.runs();
    const now = `${rows.length} ${Math.max(0, ...rows.map(({ updatedAt }) => updatedAt))} ${rows.reduce((sum, { lastSeq }) => sum + lastSeq, 0)}`;
    if (now !== runs) stream.send("runs", {});
    runs = now;
    const read = await gauges.read();
    const text = JSON.stringify(read);
    if (text !== shown) stream.send("gauges", read);
    shown = text;
    await pause(LOOK_MS, stream.signal);
  }
}
