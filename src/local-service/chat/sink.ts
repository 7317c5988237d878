import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { StreamFault } from "../faults/job-faults.ts";
import type { Call } from "../http/call.ts";

const HEADERS = { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store" };

/** Where the frames of one stream go. Once the reader has left, writing does nothing. */
export interface Sink {
  /** Resolves when there is room for more. */
  send(frame: string): Promise<void>;
  /** At once, past everything that slows or cuts the stream. */
  comment(text: string): void;
  end(last?: string): void;
}

/** Opens the answer as an event stream; a fault slows it, or cuts it after some frames. */
export function openSink({ outgoing, standardHeaders }: Call, fault: StreamFault | null): Sink {
  let isOpen = true;
  let framesLeft = fault?.cutAfter ?? Number.POSITIVE_INFINITY;
  outgoing.writeHead(200, { ...standardHeaders, ...HEADERS });
  outgoing.on("close", () => {
    isOpen = false;
  });
  outgoing.on("error", () => undefined);

  function end(last = ""): void {
    if (isOpen) outgoing.end(last);
    isOpen = false;
  }

  function cut(): void {
    if (fault?.clean) end();
    else outgoing.destroy();
  }

  return {
    async send(frame) {
      if (!isOpen || frame === "") return;
      if (framesLeft <= 0) return cut();
      framesLeft -= 1;
      if (fault && fault.delayMs > 0) await sleep(fault.delayMs);
      if (!isOpen || outgoing.write(frame)) return;
      await Promise.race([once(outgoing, "drain"), once(outgoing, "close")]).catch(() => undefined);
    },
    comment(text) {
      if (isOpen) outgoing.write(text);
    },
    end,
  };
}
