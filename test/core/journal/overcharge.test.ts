import { describe, expect, test } from "vitest";
import { raisedHold } from "../../../src/core/run/money.ts";
import { at, begun, Folded, intended, quoted, settled, started, submitted } from "./support/folded.ts";

describe("what models charge above their quotes", () => {
  const bill = (costMicros: number, quote: number | null = 100, hold = 100) =>
    new Folded().take(
      started,
      quoted("a", quote),
      begun("a"),
      intended("a", hold),
      submitted("a"),
      settled("a", costMicros),
    );

  test("is noted with each bill, and again where a bill comes again with another sum", () => {
    expect(bill(100).state.overcharges).toEqual({});
    const run = bill(150);
    const once = {
      worst: { quotedMicros: 100, chargedMicros: 150 },
      unquotedMicros: null,
      times: 1,
      excessMicros: 50,
      isAbove: true,
    };
    expect(run.state.overcharges).toEqual({ m2: once });
    expect(run.take(settled("a", 130)).state.overcharges).toEqual({ m2: { ...once, excessMicros: 30 } });
    expect(run.take(settled("a", 90)).state.overcharges).toEqual({
      m2: { ...once, times: 0, excessMicros: 0, isAbove: undefined },
    });
    expect(run.take(settled("a", 190)).state.overcharges.m2).toMatchObject({
      worst: { chargedMicros: 190 },
      times: 1,
      excessMicros: 90,
    });
  });

  test("is compared with what was allowed where nothing was quoted", () => {
    const most = { worst: null, unquotedMicros: 60, times: 1, excessMicros: 20, isAbove: true };
    expect(bill(60, null, 40).state.overcharges).toEqual({ m2: most });
    expect(bill(60, 0, 40).state.overcharges).toEqual({ m2: { ...most, excessMicros: 60 } });
  });

  test("of chats is what is above their hold", () => {
    const ask = { type: "chat.intended", ...at("talk"), model: "talk", input: {}, holdMicros: 40 };
    const answer = (costMicros: number) => ({
      type: "chat.answered",
      ...at("talk"),
      value: 1,
      costMicros,
      jobId: null,
    });
    const asked = (costMicros: number) => new Folded().take(started, begun("talk"), ask, answer(costMicros)).state;
    expect(asked(40).overcharges).toEqual({});
    expect(asked(45).overcharges).toEqual({
      talk: { worst: null, unquotedMicros: 45, times: 1, excessMicros: 5, isAbove: true },
    });
  });

  test("raises holds of the same quote to what was charged for it, and to what was charged at most where nothing is quoted", () => {
    const { state } = new Folded();
    const counts = { times: 1, excessMicros: 1 };
    state.overcharges["m"] = { worst: { quotedMicros: 3, chargedMicros: 4 }, unquotedMicros: 50, ...counts };
    state.overcharges["n"] = { worst: null, unquotedMicros: 20, ...counts };
    const raised = (model: string, quotedMicros: number | null, holdMicros: number) =>
      raisedHold(state, model, { quotedMicros, holdMicros });
    expect([raised("m", 100, 100), raised("m", 3, 3), raised("m", 100, 200)]).toEqual([100, 4, 200]);
    expect([raised("m", null, 40), raised("m", 0, 0), raised("m", null, 60)]).toEqual([50, 50, 60]);
    expect([raised("n", 100, 100), raised("toString", 100, 100), raised("n", null, 10)]).toEqual([100, 100, 20]);
  });
});
