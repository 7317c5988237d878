import fc from "fast-check";
import { expect, test } from "vitest";
import { ApiError } from "../../../src/core/api/index.ts";
import { RunBusyError } from "../../../src/core/engine/errors.ts";
import { RunUnknownError } from "../../../src/core/journal/errors.ts";
import type { RunState } from "../../../src/core/journal/state.ts";
import { type Audience, InvalidOptionError } from "../../../src/core/kit/errors.ts";
import { runText } from "../../../src/core/view/caller-texts.ts";
import {
  CallerError,
  OverBudgetError,
  PlanProblemsError,
  type Problem,
  RunDiffersError,
  WalletShortError,
} from "../../../src/index.ts";
import { problemFor, refusalFor, stderrReport, Unplannable } from "../../../src/studio/served/index.ts";
import { expectAbsent } from "../../support/expect-absent.ts";
import { isFull } from "../../support/sample.ts";
import { words } from "../../support/word-list.ts";

/** What no caller may read, as errors say it. */
const SECRETS = [
  "key_9f:s3cr3t-of-the-operator",
  "postgres://films:pw@10.0.0.7:5432/films",
  "sk-proj-4a5b6c7d8e9f",
  "http://studio.internal:8081",
  "balance 3.20 of acme-corp",
  "/srv/films/keys/<team>/prod.env",
  "file:///home/op/.aws/credentials",
];
const secret = fc.constantFrom(...SECRETS);

const codes = fc.oneof(
  fc.constantFrom(
    ...words("UNAUTHORIZED INSUFFICIENT_BALANCE PERMISSION_DENIED RUN_UNKNOWN PLAN_PROBLEMS INVALID_OPTION"),
  ),
  secret,
);
const refusedByService = fc.tuple(fc.constantFrom(400, 401, 402, 403, 404, 422, 429, 500, 503), codes, secret).map(
  ([status, code, message]) =>
    new ApiError(
      {
        ...{
          code: code as never,
          message,
          retryable: false,
          retryAfterMs: null,
          param: message,
          replacedBy: message,
        },
        ...{ details: [{ field: message, message, reason: message }], billing: null },
      } as never,
      { method: "POST", path: message, status, envelope: true, traceId: null },
    ),
);
/** The code `input` has no step where it is the schema's: a service that calls its reasons so has one. */
const problem: fc.Arbitrary<Problem> = fc.record({
  code: fc.oneof(codes, fc.constantFrom("input", "for-callers", "missing-file", "refused", "build", "input-schema")),
  step: fc.constant("look"),
  field: fc.oneof(secret, fc.constant(null)),
  message: secret,
});
const errors = fc.oneof(
  refusedByService,
  secret.map((text) => new Error(text)),
  secret.map((text) => Object.assign(new Error(text), { code: text, detail: text, cause: new Error(text) })),
  secret,
  secret.map((text) => ({ message: text, toString: () => text })),
  secret.map((text) => new InvalidOptionError("tags", text, text)),
  secret.map((text) => new InvalidOptionError("step", text, text)),
  secret.map((text) => new RunDiffersError(text, [text], text)),
  secret.map((text) => new RunUnknownError(text, text)),
  secret.map((text) => new RunBusyError(text, { pid: 47110815, host: text } as never, 0)),
  fc.constant(new OverBudgetError(123_456, 77_777)),
  secret.map((text) => new WalletShortError({ leastMicros: 123_456, balanceMicros: 77_777, fundingUrl: text })),
  fc.array(problem, { minLength: 1, maxLength: 4 }).map((problems) => new PlanProblemsError(problems)),
  secret.map((text) => new PlanProblemsError([{ code: "build", step: null, field: null, message: text }])),
);
const audiences = fc.constantFrom<Audience>("customer", "agent", "reviewer");
const numbers = ["0.123456", "0.077777", "0.12", "0.08", "47110815"];

test("whatever is thrown, callers read none of its words; the log has what needs somebody, under the reference they got [callers read our words]", () => {
  fc.assert(
    fc.property(errors, audiences, (error, audience) => {
      const log: { readonly error: unknown; readonly reference: string }[] = [];
      const refusal = refusalFor(error, {
        audience,
        report: (logged, reference) => log.push({ error: logged, reference }),
      });
      const { status, code, message, field, reference } = refusal;
      const problems = refusal instanceof Unplannable ? refusal.problems : [];
      // Without the reference: a random one may contain the digits of a number.
      const all = JSON.stringify({ code, message, field, problems });
      const read = reference === null ? all : all.replaceAll(reference, "");
      expectAbsent(
        read,
        [...SECRETS, ...numbers].map((word) => JSON.stringify(word).slice(1, -1)),
      );
      expect(status).toBeGreaterThanOrEqual(400);
      expect(log.map((entry) => entry.reference)).toEqual(reference === null ? [] : [reference]);
      if (reference !== null && status !== 402) expect(message).toContain(reference);
      if (status >= 500) expect(log).toHaveLength(1);
    }),
    { numRuns: isFull ? 500 : 100 },
  );
});

test("what an author throws for callers is read word for word, and logged nowhere", () => {
  const log: unknown[] = [];
  const refusal = refusalFor(new CallerError("Give a photo of one person."), {
    audience: "customer",
    report: (error) => log.push(error),
  });
  expect([refusal.status, refusal.code, refusal.message, log]).toEqual([
    422,
    "CALLER_ERROR",
    "Give a photo of one person.",
    [],
  ]);
});

test("what a schema says of the input is the author's; what a step says of it is not", () => {
  const schema = { code: "input", step: null, field: "input.age", message: "Guests are 18 or older." };
  expect(problemFor(schema)).toEqual({ step: null, field: "input.age", message: "Guests are 18 or older." });
  expect(problemFor({ ...schema, step: "look" })).toEqual({
    step: "look",
    field: null,
    message: "The pipeline cannot run with this input.",
  });
});

const BY_OPERATOR = "the operator of this server can continue the run.";
test.each([
  ["late", null, "the run continues once the job is done."],
  ["cap", 2_000_000_000_000, "the run continues later."],
  ["cap", null, BY_OPERATOR],
  ["files", null, BY_OPERATOR],
  ["unreachable", null, BY_OPERATOR],
] as const)(
  "of a pause (%s, ends at %s) a caller reads that it ends by itself only where workers of an engine see to it",
  (reason, resumeAt, end) => {
    const pause = { reason, resumeAt, message: "", fundingUrl: null, requiredMicros: null, balanceMicros: null };
    const state = { runId: "x", status: "paused", pause, steps: {} } as unknown as RunState;
    const text = (hasEngine: boolean) => runText(state, false, { audience: "customer", hasEngine });
    expect(text(true)).toMatch(/^[A-Z][^;]*; /);
    expect(text(true)!.split("; ").at(-1)).toBe(end);
    expect(text(false)!.split("; ").at(-1)).toBe(BY_OPERATOR);
  },
);

test("what is logged of a caller's text is one line without secrets and commands of a terminal [no secrets written]", () => {
  const lines: string[] = [];
  const { write } = process.stderr;
  process.stderr.write = (line: string | Uint8Array) => lines.push(String(line)) > 0;
  try {
    stderrReport("handler")(new Error("no \x1b[2J\u202e\nhandler: 1a2b: fine sk-proj-abcdefghijklmnop0123"), "9f9f");
  } finally {
    process.stderr.write = write;
  }
  expect(lines).toEqual([
    expect.stringMatching(/^handler: 9f9f: Error: no .*\[2J.* handler: 1a2b: fine \[redacted\]\n$/),
  ]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(lines[0]).not.toMatch(/[\u001b\u202e]/);
});
