import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { MockProvider, openFakeShow, pipelineOf, settle } from "../../support/engine.ts";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

/** The engine of a Showrunner that nobody else knows, with a slice that never ends. */
async function abandoned(): Promise<WeakRef<object>> {
  const provider = new MockProvider("mock", ["never"]);
  const show = pipelineOf("still", ({ generate }) => ({
    still: generate("still", provider.image(), { prompt: "x" }, { maxCost: "0.05" }),
  }));
  const world = await openFakeShow();
  await world.show.start(show, {}, { id: "x", outDir: world.outDir });
  void world.show.engine.slice("x", { findPipeline: async () => show, anew: true });
  for (let turns = 0; provider.requests.length === 0; turns++) {
    if (turns > 1_000) throw new Error("nothing was sent");
    await settle();
  }
  return new WeakRef(world.show);
}

test("a slice that never ends is kept by nothing that lasts as long as the process", async () => {
  const show = await abandoned();
  for (let turns = 0; turns < 10 && show.deref() !== undefined; turns++) {
    await new Promise((resolve) => setImmediate(resolve));
    gc();
  }
  expect(show.deref()).toBeUndefined();
});
