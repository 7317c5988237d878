/**
 * Chunks by the entries that load them at their start. Left to itself the bundler also cuts along what each command and each
 * library loads later, so that a start reads dozens of small files.
 */
import type { Plugin } from "vite";

const COMMAND = "cli/main";
/** One file, so that a server can send it as it is. */
const PAGE_CLIENT = "studio/browser/index";

/** A plugin that learns which entries reach a module without `await import`, and the groups for `codeSplitting`. */
export function sharedChunks(entries: ReadonlyMap<string, string>) {
  const reachedBy = new Map<string, string[]>();
  const plugin: Plugin = {
    name: "shared-chunks",
    buildEnd() {
      for (const [entry, file] of entries) {
        const reached = new Set([file]);
        for (const id of reached) for (const next of this.getModuleInfo(id)?.importedIds ?? []) reached.add(next);
        for (const id of reached) reachedBy.set(id, [...(reachedBy.get(id) ?? []), entry]);
      }
      // An entry that awaits at its top level would wait for ever for what it loads later, and that for what it shares with it.
      for (const file of entries.values()) if (reachedBy.get(file)?.length === 1) reachedBy.delete(file);
      for (const [id, starts] of reachedBy) if (starts.join() === PAGE_CLIENT) reachedBy.delete(id);
    },
  };
  // A module brings what it imports into its group, and that is shared by at least as many entries: those come first.
  const groups = Array.from({ length: entries.size }, (_, index) => ({
    debugName: `shared by ${index + 1}`,
    priority: index + 1,
    name: (id: string) => {
      const starts = reachedBy.get(id) ?? [];
      return starts.length === index + 1 ? starts.map(shortName).join("-") : null;
    },
  }));
  // What the command's start shares with others is little, and one file.
  const start = {
    debugName: "shared with the command",
    priority: entries.size + 1,
    name: (id: string) => {
      const starts = reachedBy.get(id) ?? [];
      return starts.length > 1 && starts.includes(COMMAND) ? "start" : null;
    },
  };
  return { plugin, groups: [start, ...groups] };
}

/** `api/index` is api, `local-service/render/worker` is worker. */
function shortName(entry: string): string {
  return entry
    .replace(/(?<=.)\/index$/, "")
    .split("/")
    .at(-1)!;
}
