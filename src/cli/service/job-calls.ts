import { randomUUID } from "node:crypto";
import type { FollowEvent } from "../../api/index.ts";
import type { Context } from "../context.ts";
import { duration } from "../input/flag-values.ts";
import { redrawOn } from "../live/redraw.ts";
import { visible } from "../text/escape.ts";
import { counted, shorten } from "../text/table.ts";
import { confirmPrice, readCallInput } from "./call.ts";
import { type Perform, textFlag } from "./spec.ts";

/** Milliseconds between two pictures on a terminal, and between two lines elsewhere. */
const frameMs = 250;
const lineMs = 10_000;

/**
 * Waits for long work and says that it goes on: a line that is redrawn on a terminal, now and then a line elsewhere.
 * `detail` is called each time for the text beside the time.
 */
export async function whileWorking<T>({ io, output }: Context, work: Promise<T>, detail: () => string): Promise<T> {
  const canRedraw = io.stderr.isTTY === true && io.env.TERM !== "dumb" && !io.env.CI;
  const began = performance.now();
  const line = () => `${detail()}  ${duration(performance.now() - began)}`;
  if (!canRedraw) {
    const timer = setInterval(() => output.say(line()), lineMs);
    return work.finally(() => clearInterval(timer));
  }
  const lines = redrawOn(io.stderr);
  const timer = setInterval(() => lines.show(shorten(line(), (io.stderr.columns ?? 80) - 1)), frameMs);
  return work.finally(() => {
    clearInterval(timer);
    lines.clear();
  });
}

export const followJob: Perform = async ({ client, args: [id = ""], context }) => ({
  type: "lines",
  lines: followLines(client.follow(id, { signal: context.io.interrupt })),
});

async function* followLines(events: AsyncIterable<FollowEvent>) {
  for await (const event of events) yield { text: followText(event), value: event };
}

function followText(event: FollowEvent): string {
  switch (event.type) {
    case "status": {
      const { status, progress } = event.status;
      return `${visible(status)}${progress === null ? "" : ` ${Math.round(progress * 100)} %`}`;
    }
    case "log":
      return `  ${visible(event.log.event)}: ${visible(event.log.message)}`;
    case "switched":
      return `  now following by ${event.to}: ${visible(event.reason)}`;
    case "finished":
      return `${event.outcome}: ${counted(event.job.outputs.length, "output")}; see: showrunner jobs get ${visible(event.job.jobId)}`;
    default:
      return event satisfies never;
  }
}

/** Submits under a key that is printed first, so that a submit whose answer was lost can be repeated. */
export const submitJob: Perform = async (call) => {
  const { client, args, flags, context } = call;
  const [model = ""] = args;
  const input = await readCallInput(flags, context);
  const { costMicros } = await client.estimate({ model, input });
  await confirmPrice(call, costMicros, `showrunner jobs submit ${visible(model)} … --yes`);
  const idempotencyKey = textFlag(flags, "key") ?? `cli-${randomUUID()}`;
  context.output.say(`Key ${visible(idempotencyKey)}: should the answer be lost, submit again with --key and this key`);
  return {
    type: "one",
    value: await client.submit({ model, input, idempotencyKey, webhook: textFlag(flags, "webhook") }),
  };
};

export const uploadFile: Perform = async ({ client, args: [path = ""], context }) => {
  let progress = "reading";
  const onProgress = (sentBytes: number, totalBytes: number) => {
    progress = `uploaded ${megabytes(sentBytes)} of ${megabytes(totalBytes)} MB`;
  };
  return { type: "one", value: await whileWorking(context, client.upload({ path }, { onProgress }), () => progress) };
};

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
