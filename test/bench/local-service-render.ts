import { monitorEventLoopDelay } from "node:perf_hooks";
import { startLocalService } from "../../src/local-service/index.ts";
import { cpuMs, type Report } from "./harness.ts";

const AT_ONCE = 4;

/**
 * From the submit of 5 s of 720p video to its end, in a service that has rendered nothing yet and in one that has; and the
 * delay of the event loop while four of them render.
 */
export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const service = await startLocalService({ speed: Number.POSITIVE_INFINITY });
  const headers = { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" };
  const film = async (prompt: string): Promise<number> => {
    const input = { prompt, aspect_ratio: "16:9", resolution: "720p", duration_ms: 5000 };
    const submittedAt = performance.now();
    const body = JSON.stringify({ input });
    const answer = await fetch(`${service.baseUrl}/models/video-1`, { method: "POST", headers, body });
    const { job_id } = (await answer.json()) as { job_id: string };
    await (await fetch(`${service.baseUrl}/jobs/${job_id}/stream`, { headers })).text();
    const job = (await (await fetch(`${service.baseUrl}/jobs/${job_id}`, { headers })).json()) as { status: string };
    if (job.status !== "COMPLETED") throw new Error(`the video ended as ${job.status}`);
    return (performance.now() - submittedAt) / 1000;
  };
  const group = "5 s of 720p video";
  report.figure(group, "the first of a process", "s", await film("waves at sunset"), { most: 3 });
  const later: number[] = [];
  for (const prompt of ["a fox in a snowy forest", "a woman talking", "a rainy street at night"].slice(quick ? 2 : 0)) {
    later.push(await film(prompt));
  }
  report.figure(group, "later ones", "s", later, { most: 3 });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const cpu = cpuMs();
  delay.enable();
  await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => film(`waves ${index}`)));
  delay.disable();
  report.figure(group, "processor time, of four at once", "s", (cpuMs() - cpu) / AT_ONCE / 1000);
  const p99 = delay.percentile(99) / 1e6;
  report.figure(group, "delay of the event loop with four at once, 99th percentile", "ms", p99, { most: 30 });
  await service.close();
}
