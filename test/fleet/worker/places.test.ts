import { expect, test } from "vitest";
import { Places } from "../../../src/fleet/restate/services.ts";

const never = new AbortController().signal;

test("of what waits for a place, the highest priority goes first, then what is due for longest, then what came first", async () => {
  const places = new Places(1);
  const leave = await places.take({ priority: 0, since: 0 }, never);
  const entered: string[] = [];
  const waiting = (
    [
      ["late", 0, 30],
      ["of a dead process, due for longer", 0, 10],
      ["late as well", 0, 30],
      ["urgent", 1, 40],
      ["early", 0, 20],
    ] as const
  ).map(async ([name, priority, since]) => {
    const done = await places.take({ priority, since }, never);
    entered.push(name);
    done();
  });
  leave();
  await Promise.all(waiting);
  expect(entered).toEqual(["urgent", "of a dead process, due for longer", "early", "late", "late as well"]);
});
