interface RestOptions {
  /** Milliseconds between two looks. Default 10 000. */
  readonly everyMs?: number;
}

/** At rest is a process that took less of a core than this since the last look. */
const AT_REST = 0.05;
/** More than was left by the last time, bytes: worth a collection, which takes some tens of milliseconds. */
const WORTH_BYTES = 32 * 1024 * 1024;

/**
 * Gives back to the system what a burst of work left, once it is over: V8 keeps the pages of objects that are gone for the next
 * burst, and the garbage of a process that does nothing, until it is told that memory is short. Answers how to end this.
 */
export function giveMemoryBackAtRest({ everyMs = 10_000 }: RestOptions = {}): () => void {
  let [lookedAt, used, leftBytes] = [performance.now(), process.cpuUsage(), 0];
  const look = async () => {
    const { user, system } = process.cpuUsage(used);
    const share = (user + system) / 1_000 / (performance.now() - lookedAt);
    [lookedAt, used] = [performance.now(), process.cpuUsage()];
    if (share > AT_REST || process.memoryUsage.rss() < leftBytes + WORTH_BYTES) return;
    await collectAll();
    leftBytes = process.memoryUsage.rss();
  };
  // Who cannot give memory back works on with it.
  const timer = setInterval(() => void look().catch(() => {}), everyMs).unref();
  return () => clearInterval(timer);
}

/** The collection that V8 makes where memory is short. A Node without an inspector has none to offer. */
async function collectAll(): Promise<void> {
  if (!process.features.inspector) return;
  const { Session } = await import("node:inspector/promises");
  const session = new Session();
  session.connect();
  try {
    await session.post("HeapProfiler.collectGarbage");
  } finally {
    session.disconnect();
  }
}
