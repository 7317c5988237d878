import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { inspect } from "../../../src/film/index.ts";
import { openShowrunner, pipeline } from "../../../src/index.ts";
import { start } from "../../local-service/support/service.ts";
import { models, newFolder, pipelineOf } from "../../support/engine.ts";

const journal = join(newFolder(), "journal.db");
const asks = { prompt: "a boat" };
const talk = pipelineOf("talk", ({ chat, firstOf, job, task, choose }) => {
  const milder = { onModerated: "rewrite", rewrite: { model: "rewriter-9" } } as const;
  const still = job("still", models.image, asks, milder);
  inspect({ task, chat, choose }, "look", job("plain", models.image, asks), {
    judge: { model: "judge-9", asks: "It shows a boat.", maxCost: "0.01" },
  });
  const said = chat("said", "chat-9", asks, { maxCost: "0.01" });
  const drawn = chat("drawn", "image-1", asks, { maxCost: "0.01" });
  const second = firstOf("second", [
    (one) => one.chat("a", "chat-8", asks, { maxCost: "0.01" }),
    (one) => one.chat("b", "chat-1", asks, { maxCost: "0.01" }),
  ]);
  return { still, said, drawn, second };
});

test("A chat model that does not exist is a problem of the plan, also one that rewrites or judges, before anything is paid", async () => {
  const show = await openShowrunner({ local: true, journal });
  onTestFinished(() => show.close());
  const { problems } = await show.quote(talk, {});
  // Whether the machine has what looks at a picture is told beside them.
  const ofModels = problems.filter(({ code }) => code !== "missing-requirement");
  expect(ofModels.map(({ code, message }) => `${code} ${message.split(";")[0]}`).sort()).toEqual([
    "not-a-chat-model image-1 makes media",
    "unknown-model the service has no chat model chat-9",
    "unknown-model the service has no chat model judge-9",
    "unknown-model the service has no chat model rewriter-9",
  ]);
});

/** A service that nobody says is the local one. */
async function hosted() {
  const service = await start();
  const { baseUrl, apiKey } = service;
  const show = await openShowrunner({ baseUrl, apiKey, journal });
  onTestFinished(() => show.close());
  return { service, show };
}

test("Of a service that is not ours it is a warning: whether it shows its chat models is not documented", async () => {
  const { show } = await hosted();
  const plain = pipelineOf("plain", ({ chat }) => ({
    said: chat("said", "chat-9", asks),
    told: chat("told", "chat-1", asks),
  }));
  const quote = await show.quote(plain, {}, { maxUnquoted: "0.01" });
  expect(quote.problems).toEqual([]);
  expect(quote.warnings).toMatchObject([{ code: "unlisted-chat", step: "chat-9" }]);
});

test("Whether a chat model exists is asked once, however many rows are planned with it", async () => {
  const { service, show } = await hosted();
  const row = pipeline("row", {
    input: z.object({ about: z.string() }),
    build: ({ chat, input }) => ({ said: chat("said", "chat-1", { prompt: input.about }) }),
  });
  await show.quote(row, { about: "a boat" }, { maxUnquoted: "0.01" });
  const before = structuredClone(service.stats().requests);
  for (const about of ["a bridge", "a barge"]) await show.quote(row, { about }, { maxUnquoted: "0.01" });
  expect(service.stats().requests).toEqual(before);
});
