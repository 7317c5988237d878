import { expect, test } from "vitest";
import { boundedLines } from "../../../src/studio/mcp/transports.ts";

test("a message that is too long is refused, and those around it are passed on, however they are cut into pieces", async () => {
  const text = Buffer.from(`one\n${"x".repeat(50)}\ntwo\n12345678\n123456789\nthree\n${"y".repeat(50)}`);
  for (const size of [1, 3, 7, 1000]) {
    const refused: string[] = [];
    const lines = boundedLines(9, (message) => refused.push(message));
    for (let at = 0; at < text.length; at += size) lines.write(text.subarray(at, at + size));
    lines.end();
    const passed = Buffer.concat(await lines.toArray()).toString();
    expect(passed).toBe("one\ntwo\n12345678\nthree\n");
    expect(refused).toEqual([
      "A message of 51 bytes is too long; the limit is 9 bytes.",
      "A message of 10 bytes is too long; the limit is 9 bytes.",
    ]);
  }
});
