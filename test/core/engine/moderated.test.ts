import { expect, test } from "vitest";
import { asModerated } from "../../../src/core/engine/generate/verdict.ts";
import { cleanText, ownText } from "../../../src/core/kit/clean-text.ts";

function isModerated(said: string | Error): boolean {
  const error = { code: ownText("PROVIDER_FAILED"), message: cleanText(String(said)), retryable: false };
  return asModerated(error, said, null).code === "MODERATION_FAILED";
}

test.each([
  "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
  "The input or output was flagged as sensitive. (E005) (x7Qp-2)",
  "Prediction failed: flagged as sensitive (E005).",
  "flagged as sensitive (E005)\nprediction 8c1",
])("Replicate's code at the end of what it says is its moderation: %s", (said) => {
  expect(isModerated(said)).toBe(true);
  expect(isModerated(new Error("it failed", { cause: new Error(said) }))).toBe(true);
});

test.each([
  'The prompt "a sign that reads E005" is too short',
  "Could not read file E005.png",
  'Invalid prompt: "flagged (E005)"',
  "Invalid prompt: a door (E005) in a hall",
  "Out of memory (E0051)",
])("a code that a message quotes is none: %s", (said) => {
  expect(isModerated(said)).toBe(false);
  expect(isModerated(new Error(said))).toBe(false);
});
