/**
 * Simulates a later build of the same program with `node --import newer-build.ts …`: it processes the steps of a run in the opposite
 * order. With NEWER=events it also writes events of a version that the other build does not support.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

const events = readFileSync(new URL("../../../../src/core/journal/events.ts", import.meta.url), "utf8");
const EVENT_VERSION = Number(/EVENT_VERSION = (\d+);/.exec(events)![1]);

const patches = [
  {
    file: "/src/core/engine/drive/drive-tools.ts",
    from: "plan.steps.toSorted((a, b) => lengths.get(b.path)! - lengths.get(a.path)!)",
    to: "plan.steps.toReversed()",
  },
  {
    file: "/src/core/journal/events.ts",
    from: `EVENT_VERSION = ${EVENT_VERSION};`,
    to: `EVENT_VERSION = ${EVENT_VERSION + 1};`,
  },
];

const applied = process.env.NEWER === "events" ? patches : patches.slice(0, 1);

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    const patch = applied.find(({ file }) => url.endsWith(file));
    if (patch === undefined) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString();
    // A patch that does not apply would make this the same build.
    if (!source.includes(patch.from)) throw new Error(`${patch.file} has no ${patch.from} to patch`);
    return { ...loaded, source: source.replace(patch.from, patch.to) };
  },
});
