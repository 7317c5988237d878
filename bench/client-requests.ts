// Requests that one finished job costs, by way of following it: a job of three minutes at the local service, whose
// clock runs 60 times as fast. The first job of a model has no estimate while it waits; the second has one.
import { setImmediate } from "node:timers/promises";
import { createClient, type FollowStrategyName } from "../src/api/index.ts";
import { startLocalService } from "../src/local-service/index.ts";
import { clockOf } from "../test/support/service-clock.ts";

const jobMs = 180_000;
const most: Readonly<Record<FollowStrategyName, number>> = { webhook: 2, stream: 3, poll: 6 };

for (const strategy of ["webhook", "stream", "poll"] as const) {
  const service = await startLocalService({ renderer: "stub", speed: 2_000 / jobMs });
  service.clock.scaled(60);
  const clock = clockOf(service.clock);
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey, clock });
  const count = () =>
    Object.values(service.stats().requests).reduce(
      (sum, byStatus) => sum + Object.values(byStatus).reduce((a, b) => a + b, 0),
      0,
    );
  for (const nth of ["first", "second"]) {
    const before = count();
    const startedAt = clock.now();
    const ack = await client.submit({ model: "image-1", input: { prompt: nth }, idempotencyKey: nth });
    // In place of a delivery: the hint that a receiver gives, as soon as the job is over.
    let ran = false;
    const watch = setInterval(() => {
      const running = service.stats().running_jobs > 0;
      if (ran && !running && strategy === "webhook") {
        clearInterval(watch);
        client.notify(ack.jobId);
      }
      ran ||= running;
    }, 5);
    const options = { strategy, estimatedCompletionAt: ack.estimatedCompletionAt, model: ack.model };
    for await (const event of client.follow(ack.jobId, options))
      if (event.type === "finished" && event.outcome !== "completed") throw new Error(event.job.status);
    clearInterval(watch);
    await setImmediate();
    const used = count() - before;
    console.log(
      `${strategy}, ${nth} job: ${used} requests (at most ${most[strategy]}), settled after ${((clock.now() - startedAt) / 1000).toFixed(0)} s`,
    );
  }
  await client.close();
  await service.close();
}
