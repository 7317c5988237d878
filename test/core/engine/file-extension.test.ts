import { expect, test } from "vitest";
import { fileExtension } from "../../../src/core/kit/file-name.ts";

test.each([
  ["image/png", ".png"],
  ["audio/mpeg", ".mp3"],
  ["audio/ogg; codecs=opus", ".ogg"],
  ["audio/flac", ".flac"],
  ["audio/x-m4a", ".m4a"],
  ["video/quicktime", ".mov"],
  ["image/avif", ".avif"],
  ["video/mp4; codecs=avc1", ".mp4"],
  ["text/html", ".bin"],
  ["image/svg+xml", ".bin"],
  ["application/javascript", ".bin"],
  ["application/x-sh", ".bin"],
  ["image/no-such-format", ".bin"],
  ["", ".bin"],
])("a file that the service calls %s gets the ending %s: a double click runs nothing", (contentType, ending) => {
  expect(fileExtension(contentType)).toBe(ending);
});
