import { expectTypeOf, test } from "vitest";
import type { JournalError, OutputFacts, RunEvent } from "../../../src/core/journal/events.ts";
import { type CleanText, cleanAddress, cleanText, ownText, sentence } from "../../../src/core/kit/clean-text.ts";

declare const said: string;

type Said<Type extends RunEvent["type"], Field extends string> =
  Extract<RunEvent, { readonly type: Type }> extends { readonly [name in Field]?: infer Value } ? Value : never;

test("a raw text of the service is no text of an event [G31]", () => {
  const error: JournalError = { code: cleanText(said, 100), message: cleanText(said), retryable: false };
  expectTypeOf<RunEvent>().not.toBeAny();
  // @ts-expect-error a raw code
  const rawCode: JournalError = { ...error, code: said };
  // @ts-expect-error a raw message
  const rawMessage: JournalError = { ...error, message: said };
  // @ts-expect-error a raw reason
  const rawReason: JournalError = { ...error, reasons: [said] };
  const failed: RunEvent = { type: "job.failed", step: "face", attempt: 1, error };
  // @ts-expect-error an error with a raw message
  const rawFailed: RunEvent = { ...failed, error: { code: error.code, message: said, retryable: false } };
  // @ts-expect-error a raw message of a pause
  const rawPause: RunEvent = { type: "run.paused", reason: "funds", message: said };
  const paused = { type: "run.paused", reason: "funds", message: cleanText(said) } as const;
  // @ts-expect-error a raw address
  const rawFunding: RunEvent = { ...paused, fundingUrl: said };
  const address = cleanAddress(said);
  const funding: RunEvent = { ...paused, ...(address !== null && { fundingUrl: address }) };
  expectTypeOf([rawCode, rawMessage, rawReason]).toExtend<readonly JournalError[]>();
  expectTypeOf([rawFailed, rawPause, rawFunding, funding]).toExtend<readonly RunEvent[]>();
});

test("every text that an event has of the service is a clean one", () => {
  expectTypeOf<OutputFacts["contentType"]>().toEqualTypeOf<CleanText | null>();
  expectTypeOf<Said<"service.unavailable", "message">>().toEqualTypeOf<CleanText>();
  expectTypeOf<Said<"job.unresolved", "message">>().toEqualTypeOf<CleanText>();
  expectTypeOf<Said<"job.submit.unknown", "message">>().toEqualTypeOf<CleanText>();
  expectTypeOf<NonNullable<Said<"chat.failed", "answer">>>().toEqualTypeOf<CleanText>();
});

test("a sentence takes up no raw text, nor does one that was put together by hand count as clean", () => {
  // @ts-expect-error a raw part
  sentence`the service says ${said}`;
  // @ts-expect-error put together by hand
  const glued: CleanText = `the service says ${cleanText(said)}`;
  expectTypeOf(glued).toEqualTypeOf<CleanText>();
  expectTypeOf(sentence`step ${ownText("face")}: ${cleanText(said)} (${404})`).toEqualTypeOf<CleanText>();
});
