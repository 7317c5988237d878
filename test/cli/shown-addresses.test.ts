import { expect, test } from "vitest";
import { listText, oneText } from "../../src/cli/commands/service.ts";
import { explainError } from "../../src/cli/explain-error.ts";
import { ApiError } from "../../src/core/api/index.ts";
import { toDocument } from "../../src/core/kit/document.ts";

const SIGNED = "https://s3.test/a.png?X-Amz-Signature=hidden#part-hidden";
const NAMED = "https://me:hidden@s3.test/b";

test("an error of a call shows no query, fragment or user of an address that the service quotes [addresses]", () => {
  const error = new ApiError(
    {
      code: "VALIDATION_ERROR",
      message: `cannot fetch ${SIGNED} nor ${NAMED}`,
      details: [{ field: "image", message: `${SIGNED} is gone`, allowed: [NAMED], reason: null }],
      ...{ retryable: false, retryAfterMs: null, param: null, replacedBy: null },
      billing: null,
    },
    { method: "POST", path: "/models/m", status: 400, envelope: true, traceId: null },
  );
  const { message } = explainError(error);
  expect(message).not.toContain("hidden");
  expect(message).toContain("https://s3.test/a.png");
});

test("an answer has addresses whole where they were asked for, and nowhere else", () => {
  const answer = {
    description: `as in ${SIGNED}`,
    inputSchema: { properties: { image: { default: SIGNED, examples: [NAMED] } } },
    outputs: [{ url: SIGNED, note: NAMED }],
  };
  for (const text of [JSON.stringify(toDocument(answer)), oneText(answer)]) {
    expect(text.match(/hidden/g)).toHaveLength(2);
    expect(text).toContain(`"url":"${SIGNED}"`);
  }
  expect(listText([answer], ["description"])).not.toContain("hidden");
});
