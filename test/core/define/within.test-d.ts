import { test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { pipeline } from "../../../src/index.ts";
import { MockProvider } from "../../support/mock-models.ts";

test("only a step that is paid for is waited for within a time, which is a duration", () => {
  pipeline("waits", {
    input: z.object({ fast: z.boolean() }),
    build({ job, chat, generate, takes, task, approve, upload, input }) {
      const look = job("look", models.image, { prompt: "a" }, { within: input.fast ? "90s" : "1.5h" });
      takes("some", models.image, { prompt: "a" }, { count: 2, choose: "first", within: "10m" });
      chat("words", "chat-1", { prompt: "a" }, { maxCost: "0.01", within: "2m" });
      generate("still", new MockProvider().image(), { prompt: "a" }, { maxCost: "0.01", within: "1d" });
      // @ts-expect-error milliseconds are no duration
      job("a", models.image, { prompt: "a" }, { within: 600_000 });
      // @ts-expect-error no unit
      job("b", models.image, { prompt: "a" }, { within: "10" });
      // @ts-expect-error words are no duration
      job("c", models.image, { prompt: "a" }, { within: "ten minutes" });
      // @ts-expect-error a local function takes no paid time
      task("d", {}, () => 1, { within: "10m" });
      // @ts-expect-error a person is waited for as long as it takes
      approve("e", look, { within: "10m" });
      // @ts-expect-error an upload is not paid for
      upload("f", "file.png", { within: "10m" });
      return {};
    },
  });
});
