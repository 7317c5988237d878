import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { type RunResult, runHandle } from "../../../src/core/engine/drive/run-result.ts";
import { Updates } from "../../../src/core/engine/drive/updates.ts";
import type { StoredEvent } from "../../../src/core/journal/events.ts";
import { createMemoryJournal } from "../../../src/core/journal/open.ts";
import type { JournalStore, RunUpdate } from "../../../src/core/journal/store.ts";

function background(signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<RunResult>();
  let stops = 0;
  const stop = async () => {
    stops += 1;
  };
  const handle = runHandle("x", new Updates(createMemoryJournal(), "x", 0), { begin: () => promise, stop }, signal);
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

test("whoever joins late sees every event once and in order, however many there were", async () => {
  const stored = (seq: number): StoredEvent => ({ runId: "x", seq, at: 1, version: 2, event: { type: "run.resumed" } });
  const all = Array.from({ length: 7_000 }, (_, index) => stored(index + 1));
  const read: JournalStore["read"] = async (_, { afterSeq = 0, limit } = {}) =>
    all.slice(afterSeq, limit === undefined ? undefined : afterSeq + limit);
  const updates = new Updates({ read }, "x", 10);
  const seen = async (late: AsyncIterable<RunUpdate>) => {
    const seqs: number[] = [];
    for await (const update of late) if ("seq" in update) seqs.push(update.seq);
    return seqs;
  };
  const first = seen(updates.read());
  updates.push(all.slice(0, 5_000));
  const second = seen(updates.read());
  for (const event of all.slice(5_000)) updates.push([event]);
  updates.end();
  const third = seen(updates.read());
  const expected = all.map(({ seq }) => seq);
  expect(await Promise.all([first, second, third])).toEqual([expected, expected, expected]);
});
