import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import type { Pipeline } from "../../define/index.ts";
import type { RunPlanned } from "../../journal/events.ts";
import { ownVersion } from "../../own-version.ts";
import type { RunOptions } from "../options/options.ts";
import { checkTags } from "../options/tags.ts";
import type { Planned } from "../price/planner.ts";

interface NewRun {
  readonly id: string;
  readonly pipeline: Pipeline;
  readonly produced: Planned;
  readonly options: RunOptions;
}

type Agreed = Pick<RunPlanned, "budgetMicros" | "maxUnquotedMicros" | "limits" | "quoteMicros" | "baseUrl" | "keyId">;

/** The first event of a run: all that is needed to go on with it elsewhere. */
export function runPlanned({ id, pipeline, produced, options }: NewRun, agreed: Agreed): RunPlanned {
  const tags = checkTags(options.tags);
  return {
    type: "run.planned",
    plan: produced.plan,
    input: produced.parsedInput,
    nonce: randomBytes(16).toString("hex"),
    ...agreed,
    outDir: resolve(options.outDir ?? join("out", id)),
    source: options.source ?? null,
    ...(Object.keys(tags).length > 0 && { tags }),
    ...(options.reuse && { reuse: true }),
    ...(produced.profile !== null && { profile: produced.profile }),
    ...(options.manifests === false && { manifests: false as const }),
    ...(pipeline.consent != null && { consent: pipeline.consent }),
    basis: produced.basis,
    program: ownVersion(),
  };
}
