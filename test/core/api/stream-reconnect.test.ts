import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createClient } from "../../../src/core/api/index.ts";
import { skippingClock } from "../../support/simulated-clock.ts";
import { sse } from "../../support/sse.ts";

/** What one connection does before it ends. */
const connection = fc.record({
  /** New log events that it tells. */
  fresh: fc.integer({ min: 0, max: 4 }),
  /** Events from before that it tells again. */
  repeated: fc.integer({ min: 0, max: 3 }),
  swapped: fc.boolean(),
  end: fc.constantFrom("cut", "drain", "end"),
});

test("however a stream is cut, drained and repeated, every log comes once, and the end comes once and last", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(connection, { minLength: 1, maxLength: 4 }), async (scheduler, plan) => {
      let told = 0;
      let at = 0;
      const open = new Set<ServerResponse>();
      const server = createServer((_request, response) => {
        open.add(response);
        const step = plan[at++];
        const out = sse(response);
        // The scheduler decides when each connection gets to speak.
        void scheduler.schedule(Promise.resolve(), `connection ${at}`).then(() => {
          const again = Array.from({ length: step?.repeated ?? 0 }, (_, index) => told - index).filter((id) => id > 0);
          const fresh = Array.from({ length: step?.fresh ?? 1 }, () => ++told);
          const ids = [...again.toReversed(), ...fresh];
          out.status("s1", "IN_PROGRESS");
          for (const id of step?.swapped ? ids.toReversed() : ids) out.log(id);
          if (step === undefined) {
            out.status("s2", "COMPLETED");
            out.done();
          } else if (step.end === "cut") out.cut();
          else {
            if (step.end === "drain") out.raw("retry: 5\n\n");
            out.end();
          }
        });
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const client = createClient({
        baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v3`,
        apiKey: "k:s",
        clock: skippingClock(),
        random: () => 0.5,
      });
      const logs: number[] = [];
      const kinds: string[] = [];
      let over = false;
      const reading = (async () => {
        for await (const frame of client.stream("job_1")) {
          kinds.push(frame.type);
          if (frame.type === "log") logs.push(frame.log.id);
        }
      })().finally(() => {
        over = true;
      });
      while (!over) {
        if (scheduler.count() > 0) await scheduler.waitOne();
        else await new Promise((resolve) => setImmediate(resolve));
      }
      await reading;
      // A cut may swallow what was written just before it; whatever arrived came once.
      expect(new Set(logs).size).toBe(logs.length);
      expect(logs).toContain(told);
      expect(kinds.filter((kind) => kind === "done")).toHaveLength(1);
      expect(kinds.at(-1)).toBe("done");
      await client.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }),
    { numRuns: 60 },
  );
});
