import { expect, test } from "vitest";
import { redrawOn } from "../../src/cli/live/watch.ts";

test("lines are redrawn in place, not at all when they are the same, and cleared completely", () => {
  const written: string[] = [];
  const lines = redrawOn({ write: (text: string) => written.push(text) > 0 });
  lines.show("one\ntwo");
  lines.show("one\ntwo");
  lines.show("three");
  lines.clear();
  lines.clear();
  expect(written).toEqual(["\x1b[0Jone\ntwo\n", "\x1b[2A\x1b[0Jthree\n", "\x1b[1A\x1b[0J"]);
});
