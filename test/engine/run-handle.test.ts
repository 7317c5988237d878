import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { runHandle } from "../../src/engine/drive/run-handle.ts";
import type { RunResult } from "../../src/engine/drive/run-result.ts";
import { Updates } from "../../src/engine/drive/updates.ts";

function background(signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<RunResult>();
  let stops = 0;
  const stop = async () => {
    stops += 1;
  };
  const handle = runHandle("x", new Updates(), { begin: () => promise, stop }, signal);
  return { handle, end: () => resolve({} as RunResult), stops: () => stops };
}

test("a signal that many runs share keeps nothing of one that has ended", async () => {
  const { signal } = new AbortController();
  const { handle, end } = background(signal);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  end();
  await handle.result();
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("an abort stops the run, also one that came before the run began", () => {
  const controller = new AbortController();
  const before = background(controller.signal);
  controller.abort();
  expect(before.stops()).toBe(1);
  expect(background(controller.signal).stops()).toBe(1);
});
