import { type JournalStore, type RunRow, statusNow } from "../../index.ts";
import type { EventStream } from "../http/event-stream.ts";
import type { GaugeReader } from "./gauges.ts";
import { pause } from "./run-watch.ts";

const LOOK_MS = 1000;

/** Tells a page that some run changed, whoever writes it, and what the gauges show. */
export async function watchList(journal: JournalStore, gauges: GaugeReader, stream: EventStream): Promise<void> {
  // Each at its own pace: a service that does not answer must not keep the runs back.
  await Promise.all([
    whenChanged(
      stream,
      async () => signOf(await journal.runs()),
      () => stream.send("runs", {}),
    ),
    whenChanged(
      stream,
      () => gauges.read(),
      (now) => stream.send("gauges", now),
    ),
  ]);
}

/** Looks again and again until the reader goes, and tells when what is seen is another. */
async function whenChanged<T>(stream: EventStream, look: () => Promise<T>, tell: (seen: T) => void): Promise<void> {
  let before = "";
  while (!stream.signal.aborted) {
    const seen = await look();
    const now = JSON.stringify(seen);
    if (now !== before) tell(seen);
    before = now;
    await pause(LOOK_MS, stream.signal);
  }
}

/** Differs whenever a run was added, removed or changed, or its process ended. */
function signOf(rows: readonly RunRow[]): string {
  const moved = rows.reduce((sum, { lastSeq }) => sum + lastSeq, 0);
  const now = Date.now();
  const interrupted = rows.filter((row) => statusNow(row, now).status === "interrupted").length;
  return `${rows.length} ${moved} ${interrupted} ${Math.max(0, ...rows.map(({ updatedAt }) => updatedAt))}`;
}
