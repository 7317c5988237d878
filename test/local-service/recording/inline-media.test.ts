import { expect, test } from "vitest";
import { recordable } from "../../../src/local-service/recording/recorded-values.ts";

test("a picture of many megabytes within a request is kept as its hash", () => {
  const url = `data:image/png;base64,${"A".repeat(12 * 1024 * 1024)}`;
  expect(recordable({ url })).toEqual({ url: expect.stringMatching(/^data:image\/png;sha256,[0-9a-f]{64}$/) });
});

test("a short one stays as it is", () => {
  const url = `data:image/png;base64,${"A".repeat(900)}`;
  expect(recordable({ url })).toEqual({ url });
});
