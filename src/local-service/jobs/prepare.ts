import { OURS } from "../../families/index.ts";
import type { CompiledModel } from "../catalog/compiled.ts";
import type { Work } from "../catalog/model.ts";
import { type FieldProblem, invalid } from "../http/refusal.ts";
import type { FoundMedia } from "../media/media-rules.ts";
import { mediaResolver } from "../media/resolve.ts";
import type { ServiceContext } from "../service-context.ts";
import type { Owner } from "../store/jobs.ts";
import { moderate } from "../validate/moderation.ts";
import { voiceProblems } from "../voices/voices.ts";
import { inputShapeProblems } from "./submit-body.ts";

/** A validated input with its media. */
export interface PreparedWork extends Work {
  readonly media: Readonly<Record<string, readonly FoundMedia[]>>;
}

/** Validates an input for one owner, identically for estimate and submit. */
export function workPreparer({ store, catalog, clock, options }: ServiceContext) {
  const resolve = mediaResolver(store, clock);

  /** The strict profile states such a rule as the service's own. */
  const marked = (broken: FieldProblem): FieldProblem =>
    options.strict ? broken : { ...broken, message: `${broken.message} (${OURS})` };

  function check(model: CompiledModel, raw: unknown, owner: Owner, others: readonly FieldProblem[]): PreparedWork {
    const shape = inputShapeProblems(raw);
    if (shape.length > 0) throw invalid([...shape, ...others]);
    const input = raw as Readonly<Record<string, unknown>>;
    const byFamily = model.checkFamily(input).map(marked);
    const bySchema = model.check(input);
    const { media, problems } = resolve(model.entry.input_schema, input, owner);
    const known = new Set(bySchema.map((item) => item.field));
    const voices = model.listsVoices ? [] : voiceProblems(store, catalog, input, owner);
    const more = [...byFamily, ...problems, ...voices].filter((item) => !known.has(item.field));
    const all = [...bySchema, ...more, ...others];
    if (all.length > 0) throw invalid(all);
    return { input, media };
  }

  /** @throws Refusal 400, 422 */
  return (model: CompiledModel, raw: unknown, owner: Owner, others: readonly FieldProblem[] = []): PreparedWork => {
    const work = check(model, raw, owner, others);
    const refused = moderate(work.input, options.moderationTriggers);
    if (refused) throw refused;
    return work;
  };
}
