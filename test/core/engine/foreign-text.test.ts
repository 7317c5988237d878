import fc from "fast-check";
import { expect, test } from "vitest";
import { ApiError } from "../../../src/core/api/index.ts";
import { journalError } from "../../../src/core/engine/service/service-answers.ts";
import { cleanAddress, cleanContentType, cleanId, cleanText } from "../../../src/core/kit/clean-text.ts";
import { anyCharacter } from "../../support/any-character.ts";

test("stored text of a service is bounded, without terminal controls and without URL queries", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter, maxLength: 9_000 }),
      fc.string({ unit: "grapheme-ascii" }),
      (said, query) => {
        const kept = cleanText(`${said} https://s3.test/a?sig=hidden${query.replace(/[\s"'<>]/g, "")} end`);
        expect(kept.length).toBeLessThanOrEqual(2_000);
        expect(kept).not.toMatch(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
        expect(kept).not.toContain("sig=hidden");
      },
    ),
  );
});

test("an error keeps as many reasons as are of use, each of them short", () => {
  const detail = { field: "f", message: "m".repeat(500), reason: "r".repeat(5_000), allowed: null };
  const details = Array.from({ length: 5_000 }, () => detail);
  const said = { code: "c".repeat(9_000), message: "", retryable: false, retryAfterMs: null, param: null };
  const error = new ApiError(
    { ...said, details, replacedBy: null, billing: null },
    { method: "POST", path: "/models/m", status: 400, envelope: true, traceId: null },
  );
  expect(JSON.stringify(journalError(error)).length).toBeLessThan(15_000);
});

test.each([
  ["image/png", "image/png"],
  ["Image/PNG; charset=x", "image/png"],
  ["image/png https://s3.test/?sig=hidden", null],
  ["image/svg+xml", "image/svg+xml"],
  [`image/${"x".repeat(200)}`, null],
  ["../../etc", null],
])("the type %s is kept as %s", (said, kept) => expect(cleanContentType(said)).toBe(kept));

test.each([
  ["https://pay.test/fund?token=hidden#top", "https://pay.test/fund"],
  ["https://pay.test/fund?token=hidden&workspace_id=ws-1", "https://pay.test/fund?workspace_id=ws-1"],
  ["https://pay.test/fund?workspace_id=a%20b", "https://pay.test/fund"],
  ["javascript:alert(1)", null],
  ["https://me:word@pay.test/", null],
  ["file:///etc/passwd", null],
])("the address %s is kept as %s", (said, kept) => expect(cleanAddress(said)).toBe(kept));

test.each([
  ["asset_01HXYZ-9", "asset_01HXYZ-9"],
  ["a b", null],
  ["a\u202eb", null],
  ["x".repeat(301), null],
])("the id %s is kept as %s", (said, kept) => expect(cleanId(said)).toBe(kept));

test("a long text of nothing but slashes and marks of queries is cleaned in one pass [G31]", () => {
  for (const part of ["/", "/?", "https://", "/#"]) {
    expect(cleanText(part.repeat(200_000), 100_000).length).toBeLessThanOrEqual(100_000);
  }
  expect(cleanText("see /a?=x/b?sig=hidden and /c?d")).toBe("see /a and /c?d");
});
