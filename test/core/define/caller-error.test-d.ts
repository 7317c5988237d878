import { expectTypeOf, test } from "vitest";
import { CallerError, type ShowrunnerError } from "../../../src/index.ts";

test("a CallerError has words, and nothing in place of them", () => {
  expectTypeOf(new CallerError("Choose another subject.")).toExtend<ShowrunnerError>();
  expectTypeOf(new CallerError("x", { cause: new Error("y") })).toExtend<Error>();
  // @ts-expect-error Without words there is nothing to read.
  new CallerError();
  // @ts-expect-error The cause of an error is no text for callers.
  new CallerError(new Error("postgres://u:pw@host"));
  // @ts-expect-error There is no other option.
  new CallerError("x", { status: 402 });
});
