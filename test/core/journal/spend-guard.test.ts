import { expect, test } from "vitest";
import type { LedgerChange } from "../../../src/core/journal/events/spec.ts";
import { changeLedger, emptyEntry, entryChange } from "../../../src/core/journal/record.ts";
import { guarded, unseenOf } from "../../../src/core/journal/spend-guard.ts";

const MARK = 3;
const ledger: readonly LedgerChange[] = [
  { type: "hold", step: "job", attempt: 1, amountMicros: 100 },
  { type: "hold", step: "provider", attempt: 1, amountMicros: 50, isElsewhere: true },
];

/** The two holds in one commit, with this in the wallet, of which 50 must stay. */
function refused(balanceMicros: number) {
  const unseenMicros = (mark: number) =>
    ledger
      .map((change) => changeLedger(emptyEntry, entryChange(change), { at: 0, mark: MARK }))
      .reduce((sum, entry) => sum + unseenOf(entry, mark), 0);
  const guard = { caps: [], wallet: { balanceMicros, mark: MARK, floorMicros: 50 } };
  return guarded({ guard, ledger } as never, () => ({ committedMicros: () => 0, unseenMicros })).refused;
}

test("A hold at a provider takes nothing of what must stay in the wallet, and gives nothing to it", () => {
  expect(refused(150)).toBeNull();
  expect(refused(149)).toMatchObject({ reason: "floor", headroomMicros: 99, unseenMicros: 0 });
});
