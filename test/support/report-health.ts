import { monitorEventLoopDelay } from "node:perf_hooks";

/** Sends `ready`, then answers each message with the health of this process. `reset` restarts the event-loop measurement. */
export function reportHealth(ready: Readonly<Record<string, string>>, defects: () => readonly string[]): void {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  process.on("message", (asked) => {
    if (asked === "reset") delay.reset();
    globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    process.send?.({
      defects: defects(),
      rssBytes: process.memoryUsage.rss(),
      peakBytes: process.resourceUsage().maxRSS * 1024,
      delayP99Ms: delay.percentile(99) / 1e6,
      cpuMs: (user + system) / 1000,
    });
  });
  process.send?.(ready);
}
