import { expectTypeOf, test } from "vitest";
import { type EventSpec, type EventTable, ignoredBy, line } from "../../../src/core/journal/events/spec.ts";

type Example = { readonly type: "step.example"; readonly step: string };
type Spec = EventSpec<Example>;

declare const apply: Spec["apply"];

const silent = {
  apply,
  changes: "step",
  ...ignoredBy("ledger", "media", "timeline", "line", "incident"),
} as const;

test("an event compiles only when each reader has an answer, `nothing` included", () => {
  expectTypeOf<{ "step.example": typeof silent & { notice: null } }>().toExtend<EventTable<Example>>();
  // @ts-expect-error no answer for notices
  const unanswered: EventTable<Example> = { "step.example": silent };
  // @ts-expect-error an event without an entry
  const missing: EventTable<Example | { readonly type: "step.other" }> = {
    "step.example": { ...silent, notice: null },
  };
  // @ts-expect-error a field that the event does not have
  const wrong: Spec = { ...silent, notice: null, line: ({ nowhere }) => line(nowhere) };
  expectTypeOf([unanswered, missing, wrong]).not.toBeAny();
});
