import { applicableRules, combinationTable, missedRows } from "../../core/catalog/combination-table.ts";
import { compile } from "../../core/catalog/validate/ajv.ts";
import { familyProblems } from "../../core/catalog/validate/family-rules.ts";
import type { Families, Family } from "../../core/families/index.ts";
import { TookTooLong } from "../../core/kit/within-time.ts";
import type { ChatModel } from "../chat/models.ts";
import { type FieldProblem, notFound, problem, refuse } from "../http/refusal.ts";
import { isRecord } from "../json.ts";
import type { VoiceProfile } from "../render/contract.ts";
import type { Store } from "../store/store.ts";
import type { Owner } from "../store/tables.ts";
import { toProblems } from "../validate/problems.ts";
import { BUILT_IN_MODELS } from "./builtin/index.ts";
import type { Offered } from "./load.ts";
import type { JsonSchema, Modality, ModelDefinition, StockVoice } from "./model.ts";

type Check<Problems> = (input: Readonly<Record<string, unknown>>) => Problems;

interface InputProblems {
  readonly bySchema: readonly FieldProblem[];
  readonly byTable: readonly FieldProblem[];
  readonly byFamily: readonly FieldProblem[];
}

export interface CompiledModel extends ModelDefinition {
  /** Checks an input, and fills in its default values. */
  readonly check: Check<InputProblems>;
  readonly defect: string | null;
  readonly notice: string | null;
}

/** Compiles a model's schema. Never throws. If the schema is invalid, only this model is disabled. */
function compileModel(model: ModelDefinition, family: Family | null): CompiledModel {
  const { entry } = model;
  try {
    const schema = isRecord(entry.input_schema) ? entry.input_schema : {};
    const rules = applicableRules(schema, family);
    const unread = combinationTable(schema)?.unread ?? [];
    const checkSchema = checkOf(entry.input_schema);
    return {
      ...model,
      check(input) {
        const broken = familyProblems(schema, input, rules);
        const byFamily = broken.map(({ field, message, code, allowed }) => problem(field, message, code, allowed));
        const byTable = combinationProblems(schema, input);
        // The schema comes last, because its check fills in default values.
        return { byFamily, byTable, bySchema: checkSchema(input) };
      },
      notice: unread.length > 0 ? unreadRows(entry.id, unread) : null,
      defect: null,
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const check = () => ({ bySchema: [], byTable: [], byFamily: [] });
    return { ...model, check, notice: null, defect: `The input schema of ${entry.id} does not compile: ${reason}` };
  }
}

function combinationProblems(schema: JsonSchema, input: Readonly<Record<string, unknown>>): readonly FieldProblem[] {
  const [nearest] = missedRows(schema, input);
  const found = (nearest?.misses ?? []).map(({ name, allowed, isGiven }) => {
    const what = allowed ? `must be ${allowed.join(" or ")}` : isGiven ? "must be omitted" : "is required";
    return problem(`input.${name}`, `${what} in this combination`, "combination", allowed);
  });
  return found.reverse();
}

function unreadRows(id: string, lines: readonly string[]): string {
  return `Number of lines that cannot be read in ${id}'s table of field combinations: ${lines.length}. The first one: ${lines[0]!.slice(0, 200)}`;
}

const MAX_CHECK_MS = 100;

const compiledBefore = new WeakMap<JsonSchema, Check<readonly FieldProblem[]>>();

function checkOf(schema: JsonSchema): Check<readonly FieldProblem[]> {
  const known = compiledBefore.get(schema);
  if (known !== undefined) return known;
  const own = isRecord(schema) ? { ...(prepared(schema) as JsonSchema), $id: "showrunner:input" } : schema;
  const validate = compile(own, { useDefaults: true, maxCheckMs: MAX_CHECK_MS });
  const check: Check<readonly FieldProblem[]> = (input) => {
    try {
      return toProblems(validate(input), "input");
    } catch (error) {
      if (!(error instanceof TookTooLong)) throw error;
      return [problem("input", "takes too long to check against this model's schema", "deadline")];
    }
  };
  if (isRecord(schema)) compiledBefore.set(schema, check);
  return check;
}

function prepared(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(prepared);
  if (!isRecord(node)) return node;
  const entries = Object.entries(node).map(([key, value]) => {
    if (key !== "discriminator" || !isRecord(value)) return [key, prepared(value)];
    return [key, { propertyName: value["propertyName"] }];
  });
  return Object.fromEntries(entries);
}

/** Returns a model that is compiled on first use. */
function ownModel(model: ModelDefinition, family: Family | null): CompiledModel {
  let known: CompiledModel | null = null;
  const compiled = () => (known ??= compileModel(model, family));
  return { ...model, check: (input) => compiled().check(input), notice: null, defect: null };
}

export interface Catalog {
  list(modality: Modality | null): readonly CompiledModel[];
  /** Lists the models for `GET /models`: usable models, and unsupported ones marked `isListed`. */
  listed(modality: Modality | null): readonly CompiledModel[];
  /** Finds a usable model. @throws Refusal 404, 410, 400 */
  use(modelId: string): CompiledModel;
  /** Finds a model, even if it is no longer usable. */
  find(modelId: string): CompiledModel | undefined;
  readonly chats: readonly ChatModel[];
  chat(modelId: string): ChatModel | undefined;
  stockVoice(voiceId: string): StockVoice | undefined;
  readonly defects: readonly string[];
  readonly notices: readonly string[];
}

export function createCatalog({ models: definitions, chats }: Offered, families: Families): Catalog {
  const compiled = definitions === BUILT_IN_MODELS ? ownModel : compileModel;
  const models = new Map(definitions.map((model) => [model.entry.id, compiled(model, families.of(model.entry.id))]));
  const advice = new Map(definitions.flatMap((model) => [...levelIds(model), ...Object.entries(model.oldIds)]));
  const chatsById = new Map(chats.map((chat) => [chat.id.toLowerCase(), chat]));
  const voices = new Map(definitions.flatMap((definition) => definition.voices.map((voice) => [voice.voiceId, voice])));
  const usable = [...models.values()].filter((model) => model.state.is === "live" && model.defect === null);
  const shown = [...models.values()].filter(
    (model) => usable.includes(model) || (model.state.is === "unsupported" && model.state.isListed === true),
  );
  const of = (list: readonly CompiledModel[], modality: Modality | null) =>
    modality === null ? list : list.filter((model) => model.entry.modality === modality);

  return {
    list: (modality) => of(usable, modality),
    listed: (modality) => of(shown, modality),
    use(modelId) {
      const model = models.get(modelId);
      if (!model) throw notFound(advice.get(modelId) ?? "The catalog has no such model.");
      assertUsable(model);
      return model;
    },
    find: (modelId) => models.get(modelId),
    chats,
    chat: (modelId) => chatsById.get(modelId.toLowerCase()),
    stockVoice: (voiceId) => voices.get(voiceId),
    defects: [...models.values()].flatMap((model) => model.defect ?? []),
    notices: [...models.values()].flatMap((model) => model.notice ?? []),
  };
}

function levelIds({ entry }: ModelDefinition): readonly (readonly [string, string])[] {
  const schema = entry.input_schema as { readonly properties?: { readonly [name: string]: JsonSchema } } | null;
  const levels = schema?.properties?.["quality"]?.["enum"];
  if (!Array.isArray(levels)) return [];
  return levels.map((level: unknown) => [`${entry.id}-${level}`, `Use ${entry.id} with quality ${level}.`] as const);
}

function assertUsable({ state, defect, entry }: CompiledModel): void {
  if (state.is === "retired") {
    const successor = state.replacedBy === null ? {} : { replaced_by: state.replacedBy };
    const fixedMessage = "This model is retired.";
    throw refuse("GONE", `The model ${entry.id} is retired.`, { ...successor, fixedMessage });
  }
  const fixedMessage = "This model is not supported on v3 yet.";
  if (state.is === "unsupported") throw refuse("FAILED_PRECONDITION", state.message, { fixedMessage });
  if (defect !== null) throw refuse("FAILED_PRECONDITION", defect, { fixedMessage });
}

export function findVoice(store: Store, catalog: Catalog, voiceId: string, owner: Owner): VoiceProfile | null {
  const stock = catalog.stockVoice(voiceId);
  if (stock) return { base: stock.base, pitchHz: null, loudnessDb: null, label: stock.name };
  const own = store.voices.get(voiceId);
  if (!own || own.workspaceId !== owner.workspaceId || own.ownerId !== owner.ownerId) return null;
  return JSON.parse(own.profile) as VoiceProfile;
}

export function voiceProblems(
  store: Store,
  catalog: Catalog,
  input: Readonly<Record<string, unknown>>,
  owner: Owner,
): FieldProblem[] {
  const voiceId = input["voice_id"];
  if (typeof voiceId !== "string") return [];
  if (voiceId.startsWith("job_")) {
    return [problem("input.voice_id", "is a job id; use outputs[].voice_id of that job", "not_a_voice")];
  }
  if (findVoice(store, catalog, voiceId, owner)) return [];
  return [problem("input.voice_id", "is neither a stock voice nor one of your voices", "not_found")];
}
