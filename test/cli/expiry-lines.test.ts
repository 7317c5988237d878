import { expect, test } from "vitest";
import { expiryLines } from "../../src/cli/report/warning-lines.ts";
import type { RunReport } from "../../src/index.ts";
import type { ExpiringReport } from "../../src/run/view/report.ts";

const at = Date.parse("2030-01-03T12:00:00Z");
const hourMs = 3_600_000;

function report(status: string, ...expiring: readonly Partial<ExpiringReport>[]): RunReport {
  const one: ExpiringReport = {
    ...{ step: "face", index: 0, asset_id: "asset_1", expires_at: new Date(at).toISOString() },
    ...{ needed_by: [], copied: false },
  };
  return { status, expiring: expiring.map((more) => ({ ...one, ...more })) } as unknown as RunReport;
}

test("An output that is only at the service is told with its hour and with who needs it", () => {
  expect(expiryLines(report("paused", { needed_by: ["look", "poster"] }), at - 5.5 * hourMs)).toEqual([
    "Output 0 of face is at the service only, until 2030-01-03 12:00 UTC, 5 h from now (needed by look, poster): resume before then.",
  ]);
  expect(expiryLines(report("paused", {}), at - 1)[0]).toContain("less than an hour");
});

test("After its hour, the line says that it may have to be produced again", () => {
  expect(expiryLines(report("paused", { index: 2 }), at)).toEqual([
    "Output 2 of face was kept at the service only, until 2030-01-03 12:00 UTC: it may have to be produced again.",
  ]);
});

test("What was copied is mentioned only once it is gone at the service", () => {
  const copied = report("paused", { copied: true }, { copied: true, index: 1 });
  expect(expiryLines(copied, at - 1)).toEqual([]);
  expect(expiryLines(copied, at)).toEqual([
    "2 outputs are no longer at the service; copies here go back for free when they are needed.",
  ]);
});

test("A run that continues by itself needs no warning, and names from outside cannot move the cursor", () => {
  expect(expiryLines(report("running", {}), at)).toEqual([]);
  expect(expiryLines(report("paused", { step: "a\u001b[2J" }), at)[0]).not.toContain("\u001b");
});
