import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { type Pipeline, pipeline } from "../../../src/index.ts";
import type { ResumePreview } from "../../../src/studio/dashboard/views/document.ts";
import { cookieOf } from "./support/ask.ts";
import { type Served, serveDashboard } from "./support/serve.ts";

const pictures = pipeline("pictures", {
  input: z.object({}),
  build: ({ job }) => ({
    boat: job("boat", models.image, { prompt: "a boat" }, { keep: false }),
    tree: job("tree", models.image, { prompt: "a tree" }, { keep: false }),
  }),
});

/** A picture that somebody looks at before a local function makes a note of it. */
const noted = (prompt: string) =>
  pipeline("noted", {
    input: z.object({}),
    build({ job, task, approve }) {
      const fine = approve("fine", job("boat", models.image, { prompt }));
      return { note: task("note", { fine }, () => prompt) };
    },
  });

let served: Served;
let code: Pipeline = pictures;
let headers: Readonly<Record<string, string>>;
beforeAll(async () => {
  served = await serveDashboard({ loadPipeline: async () => code });
  const { origin } = served.dashboard;
  headers = { cookie: await cookieOf(served.dashboard.url), origin, "content-type": "application/json" };
  const source = { file: "/pictures.ts", exportName: "default" };
  const run = await served.show.run(pictures, {}, { id: "x", source });
  expect((await run.result()).status).toBe("succeeded");
});
afterAll(() => served[Symbol.asyncDispose]());

async function post(path: string, body: unknown, run = "x") {
  const to = `${served.dashboard.origin}/api/runs/${run}/${path}`;
  const answer = await fetch(to, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, text, preview: () => JSON.parse(text) as ResumePreview };
}

const quoteOf = async (body: unknown) => (await post("resume-preview", body)).preview().rerunScope!.quote!;
const atRest = async () => (await served.show.follow("x")).result();

test.each([
  ["a rerun", { rerun: ["boat"], requestId: "r1" }, { rerun: ["boat", "tree"], requestId: "r2" }],
  ["an edit", { edit: { boat: { prompt: "a ship" } } }, { edit: { boat: { prompt: "a raft" } } }],
])(
  "%s is made at the quote that was shown, and another one is refused with the quote of it",
  async (_, shown, other) => {
    const before = served.paidService.jobs.size;
    const quote = await quoteOf(shown);
    const refused = await post("resume", { ...other, quote });
    expect(refused.status).toBe(409);
    expect(refused.text).toMatch(/Current quote: quote_[0-9a-f]{24}, at most 0\.\d\d USD/);
    expect(served.paidService.jobs.size).toBe(before);
    expect((await post("resume", { ...shown, quote })).status).toBe(200);
    expect((await atRest()).status).toBe("succeeded");
    expect(served.paidService.jobs.size).toBe(before + 1);
  },
);

test("what the run has become since its price was shown is refused, and made at the quote that is shown then [G21]", async () => {
  const before = served.paidService.jobs.size;
  const wanted = { rerun: ["tree"], requestId: "mine" };
  const quote = await quoteOf(wanted);
  await post("resume", { rerun: ["tree"], requestId: "another" });
  await atRest();
  expect((await post("resume", { ...wanted, quote })).status).toBe(409);
  expect(served.paidService.jobs.size).toBe(before + 1);
  expect((await post("resume", { ...wanted, quote: await quoteOf(wanted) })).status).toBe(200);
  await atRest();
  expect(served.paidService.jobs.size).toBe(before + 2);
});

test("what does not take up changed code goes on as it was planned", async () => {
  const source = { file: "/noted.ts", exportName: "default" };
  const run = await served.show.run(noted("a boat"), {}, { id: "noted", source });
  await run.result();
  code = noted("a ship");
  const before = served.paidService.jobs.size;
  const rerun = { rerun: ["boat"], requestId: "again" };
  const { quote } = (await post("resume-preview", rerun, "noted")).preview().rerunScope!;
  expect((await post("resume", { ...rerun, quote }, "noted")).status).toBe(200);
  const ended = async () => (await served.show.follow("noted")).result();
  expect((await ended()).pause?.reason).toBe("approval");
  expect(served.paidService.jobs.size).toBe(before + 1);
  await served.show.approve("noted", "fine");
  expect((await post("resume", {}, "noted")).status).toBe(200);
  expect((await ended()).status).toBe("succeeded");
});
