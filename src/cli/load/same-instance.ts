import { registerHooks } from "node:module";
import { own } from "../../core/kit/lookup.ts";

const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
const ours: Readonly<Record<string, string>> = {
  showrunner: new URL(`../../index.${extension}`, import.meta.url).href,
  "showrunner/client": new URL(`../../core/api/index.${extension}`, import.meta.url).href,
  "showrunner/film": new URL(`../../film/index.${extension}`, import.meta.url).href,
  "showrunner/migrate": new URL(`../../migrate/index.${extension}`, import.meta.url).href,
};

/** Packages that pipeline files can import even if their project lacks them. */
const fallbacks = new Set(["zod", "showrunner-local"]);

export const GENERATION = "showrunner-load";

/** Makes Node also reload the files that a user's file imports. */
function inGeneration<T extends { readonly url: string }>(resolved: T, parentURL: string | undefined): T {
  const generation = parentURL?.startsWith("file:") ? new URL(parentURL).searchParams.get(GENERATION) : null;
  if (generation === null || !resolved.url.startsWith("file:") || resolved.url.includes("/node_modules/"))
    return resolved;
  const url = new URL(resolved.url);
  url.searchParams.set(GENERATION, generation);
  return { ...resolved, url: url.href };
}

let installed = false;

/** Makes pipeline files import this process's modules, because another copy would not recognise their pipelines. */
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
