import { expect, test } from "vitest";
import { TimeoutError } from "../../../src/core/api/index.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { jobBody, json, type Reply, statusBody } from "../../support/fake-service.ts";

const setUp = clientSetup();

/** A job that never ends: its stream stays open, its status and the job itself say IN_PROGRESS. */
const endless: Reply = (request, response) => {
  if (request.path.endsWith("/stream")) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    return void response.write(": keep-alive\n\n");
  }
  const isStatus = request.path.includes("/status");
  return json(200, isStatus ? statusBody("IN_PROGRESS") : jobBody("IN_PROGRESS"))(request, response);
};

async function follow(
  client: Awaited<ReturnType<typeof setUp>>["client"],
  options: NonNullable<Parameters<typeof client.follow>[1]>,
): Promise<unknown> {
  try {
    for await (const _ of client.follow("job_1", options));
  } catch (error) {
    return error;
  }
  throw new Error("the follow ended without an error");
}

for (const strategy of ["stream", "poll", "webhook", "auto"] as const) {
  test(`a follow by ${strategy} of a job that never ends is over at its deadline`, async () => {
    const { client } = await setUp([endless]);
    const error = await follow(client, { strategy, deadlineMs: 30 });
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: "CLIENT_TIMEOUT", timeoutMs: 30 });
  });

  test(`an abort of a follow by ${strategy} before its deadline is the caller's own reason`, async () => {
    const { client } = await setUp([endless]);
    const stop = new AbortController();
    const reason = new Error("enough");
    setImmediate(() => stop.abort(reason));
    expect(await follow(client, { strategy, deadlineMs: 60_000, signal: stop.signal })).toBe(reason);
  });
}
