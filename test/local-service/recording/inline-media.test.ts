import { expect, test } from "vitest";
import { recordable } from "../../../src/local-service/recording/recorded-values.ts";

test("a picture of many megabytes within a request is kept as its hash, and a short one stays as it is", () => {
  const url = (bytes: number) => `data:image/png;base64,${"A".repeat(bytes)}`;
  const hash = expect.stringMatching(/^data:image\/png;sha256,[0-9a-f]{64}$/);
  expect(recordable([url(12 * 1024 * 1024), url(900)])).toEqual([hash, url(900)]);
});
