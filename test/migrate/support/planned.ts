import { stripTypeScriptTypes } from "node:module";
import { z } from "zod";
import { valueNames } from "../../../src/core/catalog/codegen.ts";
import { draft } from "../../../src/core/define/index.ts";
import { filesOf, makePlan } from "../../../src/core/plan/index.ts";
import type { Catalog, Pipeline, Plan, Problem } from "../../../src/index.ts";
import type { Migration } from "../../../src/migrate/index.ts";
import * as words from "./random-words.ts";

type Planned =
  | { readonly ok: true; readonly plan: Plan }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Plans a migrated pipeline; its input files need not exist. */
export function planOf(migration: Migration, pipeline: Pipeline, catalog: Catalog): Planned {
  const drafted = draft(pipeline, sampleOf(migration));
  if (drafted.draft === null) return { ok: false, problems: drafted.problems };
  const files = new Map(
    filesOf(drafted.draft).map(({ path, kind }) => {
      const contentType = { image: "image/png", video: "video/mp4", audio: "audio/wav" }[kind];
      return [path, { path, sha256: "0".repeat(64), sizeBytes: 1000, contentType }] as const;
    }),
  );
  return makePlan(drafted.draft, { catalog, files });
}

function sampleOf({ report: { inputs } }: Migration): unknown {
  const value = (input: Migration["report"]["inputs"][number]): string => {
    switch (input.is) {
      case "file":
        return `/samples/${input.kind}`;
      case "voice":
        return "voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01";
      case "text":
        return "words";
      case "choice":
        return input.choices[0] ?? "";
      default:
        return input satisfies never;
    }
  };
  return Object.fromEntries(inputs.map((input) => [input.name, value(input)]));
}

/** Evaluates a source as a script, with its imports as variables, and returns the exported pipeline. */
export function evaluate(source: string, catalog: Catalog): Pipeline {
  const script = stripTypeScriptTypes(source)
    .replace(/^import \{([^}]*)\} from "showrunner";$/m, "const {$1} = showrunner;")
    .replace(/^import \{([^}]*)\} from "showrunner\/migrate";$/m, "const {$1} = showrunner;")
    .replace(/^import \{ z \} from "zod";$/m, "const { z } = zod;")
    .replace(/^import \{ models \} from "[^"]*";$/m, "")
    .replace(/^export default /m, "return ");
  return new Function("showrunner", "zod", "models", script)(words, { z }, modelsOf(catalog)) as Pipeline;
}

/** The contents of a generated models module, without types. */
function modelsOf(catalog: Catalog): { readonly [name: string]: { readonly id: string } } {
  const models = catalog
    .models()
    .filter(({ state, modality }) => (state === "live" || state === "retired") && modality !== "")
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  return Object.fromEntries([...valueNames(models)].map(([id, name]) => [name, { id }]));
}
