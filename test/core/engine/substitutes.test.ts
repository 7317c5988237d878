import { expect, test } from "vitest";
import { z } from "zod";
import type { StepMethods } from "../../../src/core/define/index.ts";
import { MockProvider, openFakeShow, pipelineOf } from "../../support/engine.ts";

const provider = new MockProvider();
const stills = pipelineOf("stills", ({ generate, chat, expand }) => {
  const film = generate("film", provider.startingVideo(), { prompt: "a boat" }, { maxCost: "0.50" });
  const names = chat("names", "chat-1", { prompt: "names" }, { schema: z.array(z.string()), maxCost: "0.01" });
  const grow = (list: readonly string[], { generate: add }: StepMethods) =>
    list.map((name) => add(name, provider.image(), { prompt: name }, { maxCost: "0.05" }));
  return { film, all: expand("all", names, grow, { maxSteps: 2, maxCost: "0.10" }) };
});

test("with substitutes, no model of the pipeline is called: not to start, to poll, or in steps added later", async () => {
  const standIn = new MockProvider();
  const made: string[] = [];
  const { run } = await openFakeShow({
    says: () => JSON.stringify(["a", "b"]),
    providers: {
      generate(_model, { path, yields }) {
        made.push(path);
        return yields === "image" ? standIn.image() : video;
      },
    },
  });
  const video = standIn.startingVideo();
  const result = await run(stills);
  expect(result.status).toBe("succeeded");
  expect([provider.requests, provider.asked]).toEqual([[], 0]);
  expect(standIn.requests).toHaveLength(3);
  expect(standIn.asked).toBeGreaterThan(0);
  expect(new Set(made)).toEqual(new Set(["film", "all/a", "all/b"]));
});
