import { z } from "zod";
import type { Family } from "../../core/families/index.ts";
import { readJsonFile } from "../../core/kit/files.ts";
import { type ChatModel, chatEntry, OWN_CHAT_MODEL } from "../chat/models.ts";
import { LocalServiceError } from "../errors.ts";
import { isRecord } from "../json.ts";
import { micros } from "../money.ts";
import type { NormalOptions } from "../options.ts";
import { BUILT_IN_MODELS } from "./builtin/index.ts";
import { definitionOfEntry } from "./infer.ts";
import { type JsonSchema, type ModelDefinition, type ModelState, OUTPUT_SCHEMA } from "./model.ts";

/** Settings in a catalog file that the API does not return. */
const localPart = z.strictObject({
  /** Dollars per job. Default: the family's price, or else an estimate from modality and input. */
  price_usd: z.number().min(0).optional(),
  /** The reason why the price of a job is not known in advance. Omitted if the price is known. */
  unquotable: z.string().optional(),
  /** Retires the model: requests for it get 410 GONE. The value is the id of the successor, or null. */
  replaced_by: z.string().nullable().optional(),
  /** Makes the model unavailable: requests for it get 400 FAILED_PRECONDITION with this message. */
  unsupported: z.string().optional(),
  /** Whether `GET /models` lists the model even though it is unsupported. Default: false. */
  listed: z.boolean().optional(),
});

const text = z.string().nullable().default(null);
const schema = z.record(z.string(), z.unknown());

const fileEntry = z.looseObject({
  id: z.string().min(1).max(200),
  modality: z.enum(["image", "video", "audio"]),
  name: text,
  description: text,
  price_description: text.transform((prices) => prices ?? ""),
  logo_url: text,
  input_schema: z.custom<JsonSchema>(),
  output_schema: schema.nullish().transform((given) => given ?? OUTPUT_SCHEMA),
  x_local: localPart.optional(),
});

const catalogFile = z.union([
  z.array(z.unknown()),
  z.object({ data: z.array(z.unknown()) }).transform(({ data }) => data),
]);

type FileEntry = z.infer<typeof fileEntry>;

const broken = (text: string, cause?: unknown) => new LocalServiceError("CATALOG_INVALID", text, { cause });

function stateOf(local: FileEntry["x_local"]): ModelState {
  if (local?.replaced_by !== undefined) return { is: "retired", replacedBy: local.replaced_by };
  if (local?.unsupported === undefined) return { is: "live" };
  return { is: "unsupported", message: local.unsupported, isListed: local.listed === true };
}

function definitionOf({ x_local: local, ...entry }: FileEntry, family: Family | null): ModelDefinition {
  const price = local?.price_usd;
  return {
    ...definitionOfEntry(entry, family),
    state: stateOf(local),
    unquotable: local?.unquotable ?? null,
    ...(price !== undefined && { priceMicros: () => micros(price) }),
  };
}

function parseEntry<T>(schema: z.ZodType<T>, value: unknown, index: number, source: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = `${source}, model ${index}${issue?.path.length ? `, ${issue.path.join(".")}` : ""}`;
  throw broken(
    `${where}: ${issue?.message}. Use an array of model objects like those that GET /models/{model} returns.`,
  );
}

function readCatalogFile(path: string): unknown {
  try {
    return readJsonFile(path);
  } catch (cause) {
    throw broken(`The catalog ${path} cannot be read as JSON (${String(cause)}). Correct the path or the file.`, cause);
  }
}

export interface Offered {
  readonly models: readonly ModelDefinition[];
  readonly chats: readonly ChatModel[];
}

/**
 * Loads models from a file or an array. If `catalog` is null, returns the built-in models.
 * @throws LocalServiceError `CATALOG_INVALID` if the catalog is not a list of models
 */
export function loadCatalog(
  catalog: string | readonly unknown[] | null,
  { families, strict }: Pick<NormalOptions, "families" | "strict">,
): Offered {
  if (catalog === null) return { models: BUILT_IN_MODELS, chats: [OWN_CHAT_MODEL] };
  const source = typeof catalog === "string" ? catalog : "The catalog";
  const list = catalogFile.safeParse(typeof catalog === "string" ? readCatalogFile(catalog) : catalog);
  if (!list.success)
    throw broken(`${source} must be an array of models in the format that GET /models/{model} returns.`);
  const shape = strict ? fileEntry.strip() : fileEntry;
  const chats: ChatModel[] = [];
  const entries: FileEntry[] = [];
  for (const [index, value] of list.data.entries()) {
    if (isRecord(value) && value["modality"] === "text") chats.push(parseEntry(chatEntry, value, index, source));
    else entries.push(parseEntry(shape, value, index, source));
  }
  const ids = [...entries, ...chats].map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw broken(`${source} contains the model ${twice} twice. Remove one of the two entries.`);
  return {
    models: entries.map((entry) => definitionOf(entry, families.of(entry.id))),
    chats: chats.length === 0 ? [OWN_CHAT_MODEL] : chats,
  };
}
