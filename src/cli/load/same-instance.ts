import { registerHooks } from "node:module";
import { own } from "../../core/kit/own.ts";

/** Our own modules as they run now: sources under `src`, or what was built from them. */
const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
const ours: Readonly<Record<string, string>> = {
  showrunner: new URL(`../../index.${extension}`, import.meta.url).href,
  "showrunner/client": new URL(`../../core/api/index.${extension}`, import.meta.url).href,
  "showrunner/film": new URL(`../../film/index.${extension}`, import.meta.url).href,
  "showrunner/migrate": new URL(`../../migrate/index.${extension}`, import.meta.url).href,
};

/** Packages that are resolved from this installation where the file's own project has none. */
const fallbacks = new Set(["zod", "showrunner-local"]);

/** Marks the URL of a file that is loaded once more, after it failed or changed. */
export const GENERATION = "showrunner-load";

/** What a file imports from the user's own files is loaded once more with it. */
function inGeneration<T extends { readonly url: string }>(resolved: T, parentURL: string | undefined): T {
  const generation = parentURL?.startsWith("file:") ? new URL(parentURL).searchParams.get(GENERATION) : null;
  if (generation === null || !resolved.url.startsWith("file:") || resolved.url.includes("/node_modules/"))
    return resolved;
  const url = new URL(resolved.url);
  url.searchParams.set(GENERATION, generation);
  return { ...resolved, url: url.href };
}

let installed = false;

/**
 * Makes `import "showrunner"` in a pipeline file mean the very modules that this process runs, whatever is or is not in
 * the file's `node_modules`: two copies would not know each other's pipelines. A pipeline file that stands outside any
 * project may also use the `zod` and the local service of this installation.
 */
export function shareOwnModules(): void {
  if (installed) return;
  installed = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const url = own(ours, specifier);
      if (url !== undefined) return { url, shortCircuit: true };
      if (!fallbacks.has(specifier)) return inGeneration(nextResolve(specifier, context), context.parentURL);
      try {
        return nextResolve(specifier, context);
      } catch {
        return nextResolve(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
}
