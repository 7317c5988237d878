/**
 * Groups modules into chunks by the entries that load them at startup. By default, the bundler also splits chunks by
 * what each entry loads later, so that starting the command would read dozens of small files.
 */
import type { Plugin } from "vite";

const COMMAND = "cli/main";
/** The client for web pages. It stays a single file, so that a server can send it unchanged. */
const PAGE_CLIENT = "studio/browser/index";
/** Runs only beside the library, so what it shares with the library needs no chunk of its own. */
const TELEMETRY = "fleet/telemetry/index";

/** Returns a plugin that finds the entries that load each module at startup, and the groups for `codeSplitting`. */
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
      // An entry may await a lazily loaded module at its top level. If a chunk that this module imports contained the
      // entry's file, each would wait for the other forever. So such a file, if only its entry reaches it, joins no group.
      for (const file of entries.values()) if (reachedBy.get(file)?.length === 1) reachedBy.delete(file);
      for (const [id, starts] of reachedBy) if (starts.join() === PAGE_CLIENT) reachedBy.delete(id);
      for (const [id, starts] of reachedBy) {
        if (starts.length > 1)
          reachedBy.set(
            id,
            starts.filter((entry) => entry !== TELEMETRY),
          );
      }
    },
  };
  // A group also takes the modules that its modules import. More entries may share these, so larger groups come first.
  const groups = Array.from({ length: entries.size }, (_, index) => ({
    debugName: `shared by ${index + 1}`,
    priority: index + 1,
    name: (id: string) => {
      const starts = reachedBy.get(id) ?? [];
      return starts.length === index + 1 ? starts.map(shortName).join("-") : null;
    },
  }));
  // The command shares few modules with other entries, so they form a single file.
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

/** Shortens `api/index` to `api`, and `local-service/render/worker` to `worker`. */
function shortName(entry: string): string {
  return entry
    .replace(/(?<=.)\/index$/, "")
    .split("/")
    .at(-1)!;
}
