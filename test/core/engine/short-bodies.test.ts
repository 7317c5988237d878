/** A download that ends early, in each way that HTTP does not show: half a file is never the output. */
import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { models } from "../../../recipes/models.ts";
import { type Client, createClient } from "../../../src/core/api/index.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";
import { FakePaidService } from "../../support/fake-paid-service.ts";
import { type FakeService, fakeService } from "../../support/fake-service.ts";
import { during, openFakeShow } from "../../support/fake-showrunner.ts";
import { pipelineOf } from "../../support/pipelines.ts";
import { PIXEL } from "../../support/tiny-media.ts";

type Sends = (answer: ServerResponse, bytes: Buffer) => void;
const head = { "content-type": "image/png" };

const short: Readonly<Record<string, Sends>> = {
  "without a length, when the connection ends": (answer, bytes) => {
    answer.useChunkedEncodingByDefault = false;
    answer.writeHead(200, { ...head, connection: "close" });
    answer.end(bytes);
  },
  "in chunks, with a clean end": (answer, bytes) => {
    answer.writeHead(200, { ...head, "transfer-encoding": "chunked" });
    answer.end(bytes);
  },
  "with a length of its own": (answer, bytes) => {
    answer.writeHead(200, { ...head, "content-length": bytes.length });
    answer.end(bytes);
  },
};

const one = pipelineOf("one", ({ job }) => ({ a: job("a", models.image, { prompt: "a" }) }));
const half = PIXEL.subarray(0, Math.floor(PIXEL.length / 2));
const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

let send: (answer: ServerResponse) => void;
let service: FakeService;
let client: Client;
beforeAll(async () => {
  service = await fakeService((_request, answer) => send(answer));
  client = createClient({ baseUrl: service.baseUrl, apiKey: "key:secret" });
});
afterAll(async () => {
  await client.close();
  await service.close();
});

/** A run whose outputs come from the server above. */
async function world() {
  const paidService = new FakePaidService({ catalog: builtInCatalog() });
  const paid = paidService.client();
  const download: Client["download"] = (_, path, options) => client.download(`${service.origin}/output`, path, options);
  paidService.client = () => ({ ...paid, download });
  return openFakeShow({ paidService });
}

describe.each(Object.entries(short))("An output that comes half %s", (_name, sends) => {
  test("is fetched again until it is whole", async () => {
    const { show, clock, outDir } = await world();
    let times = 0;
    send = (answer) => sends(answer, ++times < 3 ? half : PIXEL);
    const done = await during(
      clock,
      show.run(one, {}, { id: "x", outDir }).then((run) => run.result()),
    );
    expect([done.status, done.report.steps[0]!.outputs[0]!.sha256]).toEqual(["succeeded", hashOf(PIXEL)]);
    expect(times).toBe(3);
  });

  test("each time is said, and fetched by a later resume; nothing is bought again", async () => {
    const { show, clock, outDir, paidService, resume } = await world();
    send = (answer) => sends(answer, half);
    const paused = await during(
      clock,
      show.run(one, {}, { id: "x", outDir }).then((run) => run.result()),
    );
    expect(paused.pause).toMatchObject({ reason: "files", message: expect.stringContaining("file is damaged: ") });
    const { steps, next } = await show.show("x");
    expect(steps[0]).toMatchObject({ status: "running", outputs: [{ sha256: null, file: null }] });
    expect(next?.command).toBe("showrunner resume x");
    send = (answer) => sends(answer, PIXEL);
    const done = await resume();
    expect([done.status, done.report.steps[0]!.outputs[0]!.sha256]).toEqual(["succeeded", hashOf(PIXEL)]);
    expect(paidService.submits).toBe(1);
  });
});
