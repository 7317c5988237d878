import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { isWordOfWork, STATUS_CALLS } from "../../../src/core/providers.ts";
import { OUTCOMES, STATUS_ANSWERS } from "./support/status-answers.ts";

test("docs/generate.md says what the status call of each package does with each answer", async () => {
  const calls = Object.values(OUTCOMES);
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const names = Object.keys(OUTCOMES).map((name) => (name === "google" ? "google, google-vertex" : name));
  const rows = STATUS_ANSWERS.map((answer, index) => row([answer, ...calls.map((outcomes) => outcomes[index]!)]));
  const table = [row(["Response", ...names]), `|${"---|".repeat(names.length + 1)}`, ...rows].join("\n");
  expect(await readFile("docs/generate.md", "utf8")).toContain(table);
});

test("a package hides failures where it calls anything but a failure of the work an error", () => {
  const hiding = Object.keys(OUTCOMES).filter((name) =>
    OUTCOMES[name]!.some((outcome, index) => outcome === "error" && STATUS_ANSWERS[index] !== "failed"),
  );
  expect(Object.keys(STATUS_CALLS)).toEqual(Object.keys(OUTCOMES));
  expect(Object.keys(STATUS_CALLS).filter((name) => STATUS_CALLS[name]!.hidesFailures)).toEqual(hiding);
});

test.each([
  ["fal", 200, { status: "IN_QUEUE" }, false],
  ["fal", 401, { detail: "no key" }, false],
  ["fal", 500, { detail: "it broke", error_type: "internal_error" }, false],
  ["fal", 504, { detail: "too long", error_type: "request_timeout" }, true],
  ["fal", 422, { detail: [{ loc: ["body"], msg: "no", type: "content_policy_violation" }] }, true],
  ["fal", 422, { detail: ["no"] }, false],
  ["replicate", 503, { status: "failed" }, false],
  ["replicate", 200, { status: "failed" }, true],
  ["gateway", 200, { status: "cancelled" }, true],
  ["google", 200, { name: "o", done: true, error: { message: "no" } }, true],
  ["google", 200, { done: true, error: { message: "no" } }, false],
  ["alibaba", 200, { output: { task_status: "FAILED" } }, true],
  ["alibaba", 200, { task_status: "FAILED" }, false],
  ["xai", 200, { status: "done", video: { respect_moderation: false } }, true],
  ["xai", 200, { status: "done", video: {} }, false],
  ["another", 200, { anything: true }, true],
  ["another", 200, undefined, false],
  ["another", 503, { anything: true }, false],
  ["another", null, undefined, false],
] as const)("of %s, an error made of HTTP %s with %j is the word of its work: %s", (provider, httpStatus, body, is) => {
  expect(isWordOfWork(provider, "error", { httpStatus, body })).toBe(is);
});

test("an error of which nothing could be seen counts where its package calls nothing else one", () => {
  const counts = Object.keys(STATUS_CALLS).filter((provider) => isWordOfWork(provider, "error", null));
  expect(counts).toEqual(["replicate", "gateway", "google", "alibaba"]);
  expect(isWordOfWork("another", "error", null)).toBe(true);
});
