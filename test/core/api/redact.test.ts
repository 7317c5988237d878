import { expect, test } from "vitest";
import { redactUrls } from "../../../src/core/api/index.ts";

test.each([
  ["could not fetch https://s3.test/a.png?X-Amz-Signature=S: 403", "could not fetch https://s3.test/a.png: 403"],
  [
    "it ends (https://me:word@host.test/x?sig=S). Does https://host.test/y?sig=S!",
    "it ends (https://host.test/x). Does https://host.test/y!",
  ],
  ["see https://docs.test/errors (page 2)", "see https://docs.test/errors (page 2)"],
  ['"HTTPS://me:word@host.test/x#part" is gone', '"https://host.test/x" is gone'],
  ["https://me:word@host.test:99999999/x is no address", "https://host.test:99999999/x is no address"],
  ["wss://host.test/live?token=S closed", "wss://host.test/live closed"],
  ["GET /files/b?sig=S&part=1 was refused", "GET /files/b was refused"],
  [
    "it must start with http:// or https://; or, in a list, https://, or so",
    "it must start with http:// or https://; or, in a list, https://, or so",
  ],
  ["https://s3.test/a?sig=S; https://s3.test/b?sig=S, then", "https://s3.test/a; https://s3.test/b, then"],
  ["is it 1/2 or 3/4? or both = none", "is it 1/2 or 3/4? or both = none"],
])("%s", (said, kept) => {
  expect(redactUrls(said)).toBe(kept);
});
