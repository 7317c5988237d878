import fc from "fast-check";
import { expect, test } from "vitest";
import type { LedgerChange } from "../../../src/core/journal/events/spec.ts";
import { changeLedger, entryChange, mergeChanges } from "../../../src/core/journal/record.ts";

const of = { step: "face", attempt: 1 };
const micros = fc.integer({ min: 0, max: 1_000_000 });
const change: fc.Arbitrary<LedgerChange> = fc
  .oneof(
    fc.record({ type: fc.constantFrom("hold" as const, "raise" as const), amountMicros: micros }),
    fc.record({ type: fc.constant("settle" as const), costMicros: micros }),
    fc.record({ type: fc.constantFrom("charged" as const, "release" as const) }),
  )
  .map((one) => ({ ...of, ...one }) as LedgerChange);
const mark = fc.option(fc.integer({ min: 0, max: 9 }));
const entry = fc.record({ heldMicros: micros, settledMicros: micros, slot: mark, charged: mark });

test("changes of one entry taken together come to what they come to one after the other, whatever the entry was", () => {
  fc.assert(
    fc.property(entry, fc.array(change, { minLength: 1, maxLength: 6 }), (before, changes) => {
      const moment = { at: 20 * 900_000, mark: 10 };
      const single = changes.map(entryChange);
      const inTurn = single.reduce((now, one) => changeLedger(now, one, moment), before);
      expect(changeLedger(before, single.reduce(mergeChanges), moment)).toEqual(inTurn);
    }),
  );
});
