import { expect, test } from "vitest";
import { missingLines } from "../../src/cli/report/warning-lines.ts";
import type { Missing } from "../../src/core/view/missing.ts";
import type { RunDocument } from "../../src/index.ts";

const at = Date.parse("2030-01-03T12:00:00Z");
const hourMs = 3_600_000;
const until = new Date(at).toISOString();

function report(...missing: readonly Partial<Missing>[]): RunDocument {
  const one: Missing = {
    step: "face",
    output: 0,
    what: "file",
    until,
    text: "Output 0 of face is only on the service",
  };
  return { expiring: [], missing: missing.map((more) => ({ ...one, ...more })) } as unknown as RunDocument;
}

test("An output that is only on the service is told with the time that is left [G13]", () => {
  expect(missingLines(report({}), at - 5.5 * hourMs)).toEqual([
    "Output 0 of face is only on the service: resume within 5 h.",
  ]);
  expect(missingLines(report({}), at - 1)[0]).toContain("less than an hour");
});

test("A text that ends in a full stop goes on without it", () => {
  const text = "The file is only on the service. Resume the run.";
  expect(missingLines(report({ text }), at - 1)[0]).toMatch(/Resume the run: resume within/);
  expect(missingLines(report({ text, until: null }), at)).toEqual([text]);
});

test("After its hour, the line says that it may have to be produced again", () => {
  expect(missingLines(report({}), at)).toEqual([
    "Output 0 of face is only on the service. That time has passed, so the output may have to be generated again.",
  ]);
});

test("What was copied is mentioned only once it is gone on the service", () => {
  const copied = { step: "face", copied: true, expires_at: until };
  const both = { ...report(), expiring: [copied, copied] } as unknown as RunDocument;
  expect(missingLines(both, at - 1)).toEqual([]);
  expect(missingLines(both, at)).toEqual([
    "2 outputs are no longer on the service; local copies are uploaded again for free when needed.",
  ]);
});

test("What ends in a command to type gets no full stop", () => {
  const text = "still: sent once. Say: showrunner adopt x still <file|none>";
  expect(missingLines(report({ what: "job", text }), at)).toEqual([text]);
});

test("What happened to several steps for one cause is said once, with the names of the others", () => {
  const unanswered = ["a", "b", "c"].map((step) => {
    const text = `${step}: HTTP_403: Forbidden. Say what it made: showrunner adopt x ${step} <file|none>`;
    return { step, what: "job", until: null, text } as const;
  });
  const other = { step: "d", what: "job", until: null, text: "d: was never answered. showrunner adopt x d" } as const;
  expect(missingLines(report(...unanswered, other), at)).toEqual([
    `${unanswered[0]!.text}. The same applies to b, c`,
    other.text,
  ]);
});

test("What the table of steps says is not said again, and names from outside cannot move the cursor", () => {
  expect(missingLines(report({ what: "decision" }, { what: "result" }), at)).toEqual([]);
  expect(missingLines(report({ text: "a\u001b[2J" }), at)[0]).not.toContain("\u001b");
});
