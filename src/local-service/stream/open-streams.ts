import { KEEP_ALIVE } from "./frames.ts";

const KEEP_ALIVE_MS = 15_000;
/** A stream is ended, cleanly, after so long; its reader comes back and goes on. */
const MAX_STREAM_MS = 3_600_000;

/** One open stream, as the register sees it. */
export interface OpenStream {
  /** Subscribes to news; returns the way out. */
  wakeOn(wake: () => void): () => void;
  onWake(): void;
  keepAlive(comment: string): void;
  /** Ends it cleanly, with word to come back. */
  shutDown(): void;
}

interface Entry {
  readonly stream: OpenStream;
  readonly since: number;
}

/** All streams open now: one timer keeps them alive, one call ends them. */
export function createOpenStreams() {
  const open = new Set<Entry>();

  const sweep = setInterval(() => {
    const oldest = performance.now() - MAX_STREAM_MS;
    for (const { stream, since } of open) {
      if (since < oldest) stream.shutDown();
      else stream.keepAlive(KEEP_ALIVE);
    }
  }, KEEP_ALIVE_MS);
  sweep.unref();

  return {
    /** Returns the way out. */
    add(stream: OpenStream): () => void {
      const entry = { stream, since: performance.now() };
      open.add(entry);
      const unsubscribe = stream.wakeOn(() => stream.onWake());
      return () => {
        open.delete(entry);
        unsubscribe();
      };
    },
    count: () => open.size,
    shutDown(): void {
      clearInterval(sweep);
      for (const { stream } of [...open]) stream.shutDown();
    },
  };
}

export type OpenStreams = ReturnType<typeof createOpenStreams>;
