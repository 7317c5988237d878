import { OURS } from "../../families/index.ts";
import type { CompiledModel } from "../catalog/catalog.ts";
import type { Work } from "../catalog/model.ts";
import { type FieldProblem, invalid, problem } from "../http/refusal.ts";
import { isRecord } from "../json.ts";
import type { FoundMedia } from "../media/references.ts";
import { mediaResolver } from "../media/resolve.ts";
import { MAX_URL_LENGTH, TOO_LONG } from "../request-bodies.ts";
import type { ServiceContext } from "../service-context.ts";
import type { Owner } from "../store/tables.ts";
import { moderate } from "../validate/moderation.ts";
import { voiceProblems } from "../voices/voices.ts";

const MAX_KEY_LENGTH = 1024;

/** A submit as it was sent. `problems` concern fields other than `input`. */
export interface SubmitBody {
  readonly input: unknown;
  readonly webhook: string | null;
  readonly idempotencyKey: string | null;
  readonly problems: readonly FieldProblem[];
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function readWebhook(value: unknown): string | FieldProblem | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") return problem("webhook", "must be a string or null", "type");
  if (value.length > MAX_URL_LENGTH) return problem("webhook", TOO_LONG, "maxLength");
  return isHttpUrl(value) ? value : problem("webhook", "is not an http or https URI", "format");
}

function readKey(value: unknown): string | FieldProblem | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") return problem("idempotency_key", "must be a string or null", "type");
  if (value.length >= 1 && value.length <= MAX_KEY_LENGTH) return value;
  const reason = value.length === 0 ? "minLength" : "maxLength";
  return problem("idempotency_key", `must have 1 to ${MAX_KEY_LENGTH} characters`, reason);
}

/** Reads a submit body; unknown fields are ignored. @throws Refusal 400 when it is not an object. */
export function readSubmitBody(value: unknown): SubmitBody {
  if (!isRecord(value)) throw invalid([problem("body", "must be a JSON object", "type")]);
  const webhook = readWebhook(value["webhook"]);
  const key = readKey(value["idempotency_key"]);
  return {
    input: value["input"],
    webhook: typeof webhook === "string" ? webhook : null,
    idempotencyKey: typeof key === "string" ? key : null,
    problems: [webhook, key].filter((item) => item !== null && typeof item !== "string"),
  };
}

/** An input that is absent or not an object, detected before schema validation. */
export function inputShapeProblems(input: unknown): FieldProblem[] {
  if (input === undefined || input === null) return [problem("input", "is required", "required")];
  return isRecord(input) ? [] : [problem("input", "must be an object", "type")];
}

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
