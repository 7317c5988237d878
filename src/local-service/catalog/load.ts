import { z } from "zod";
import type { Family } from "../../families/index.ts";
import { LocalServiceError } from "../errors.ts";
import { readJsonFile } from "../json-file.ts";
import { micros } from "../money/micros.ts";
import type { NormalOptions } from "../options.ts";
import { BUILT_IN_MODELS, STOCK_VOICES } from "./builtin/index.ts";
import { familyPriceMicros } from "./family-price.ts";
import { guessPriceMicros, guessRenderMs } from "./guess-price.ts";
import { inferInput, inferKind, inferNames, listsVoices } from "./infer.ts";
import type { CatalogEntry, ModelDefinition, ModelState } from "./model.ts";
import { OUTPUT_SCHEMA } from "./schema-parts.ts";

/** What a catalog file may say to the local service alone; not shown to callers. */
const localPart = z.strictObject({
  /** Dollars a job; when absent that of its family, else guessed from modality and input. */
  price_usd: z.number().min(0).optional(),
  /** Why the model cannot be quoted. */
  unquotable: z.string().optional(),
  /** 410 GONE; names the successor, or null for none. */
  replaced_by: z.string().nullable().optional(),
  /** 400 FAILED_PRECONDITION with this message. */
  unsupported: z.string().optional(),
});

/** A model as `GET /models/{model}` returns it. Fields that are not known survive. */
const fileEntry = z.looseObject({
  id: z.string().min(1).max(200),
  modality: z.enum(["image", "video", "audio"]),
  name: z.string().nullish(),
  description: z.string().nullish(),
  price_description: z.string().nullish(),
  logo_url: z.string().nullish(),
  input_schema: z.unknown(),
  output_schema: z.record(z.string(), z.unknown()).nullish(),
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
  return local?.unsupported === undefined ? { is: "live" } : { is: "unsupported", message: local.unsupported };
}

function entryOf({ x_local: _local, ...file }: FileEntry): CatalogEntry {
  return {
    ...file,
    name: file.name ?? null,
    description: file.description ?? null,
    price_description: file.price_description ?? "",
    logo_url: file.logo_url ?? null,
    // A schema that is none is found out when it is compiled, and disables this model only.
    input_schema: file.input_schema as CatalogEntry["input_schema"],
    output_schema: file.output_schema ?? OUTPUT_SCHEMA,
  };
}

/** An entry without fields that the API's description does not know. */
function described(entry: FileEntry): FileEntry {
  return z.object(fileEntry.shape).parse(entry);
}

function definitionOf(file: FileEntry, family: Family | null): ModelDefinition {
  const entry = entryOf(file);
  const kind = inferKind(entry.modality, entry.input_schema);
  const rename = inferNames(entry.input_schema);
  const price = file.x_local?.price_usd;
  return {
    entry,
    state: stateOf(file.x_local),
    kind: () => kind,
    unquotable: file.x_local?.unquotable ?? null,
    priceMicros: (work) => {
      if (price !== undefined) return micros(price);
      return familyPriceMicros(family?.prices ?? [], work) ?? guessPriceMicros(kind, work);
    },
    renderMs: (work) => family?.typicalMs ?? guessRenderMs(kind, work),
    listsVoices: listsVoices(entry.input_schema),
    voices: kind === "speech" ? STOCK_VOICES : [],
    oldIds: {},
    adapt: (work) => ({ input: inferInput(kind, work), rename }),
  };
}

function parseEntry(value: unknown, index: number, source: string): FileEntry {
  const parsed = fileEntry.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = `${source}, model ${index}${issue?.path.length ? `, ${issue.path.join(".")}` : ""}`;
  throw broken(`${where}: ${issue?.message}. Give an array of model objects as GET /models/{model} returns them.`);
}

function readCatalogFile(path: string): unknown {
  try {
    return readJsonFile(path);
  } catch (cause) {
    throw broken(`The catalog ${path} cannot be read as JSON (${String(cause)}).`, cause);
  }
}

/**
 * The models to offer: those of a file or an array, else the built-in ones.
 * @throws LocalServiceError `CATALOG_INVALID` for what is no list of models; a bad schema only disables its model
 */
export function loadCatalog(
  catalog: string | readonly unknown[] | null,
  { families, strict }: Pick<NormalOptions, "families" | "strict">,
): readonly ModelDefinition[] {
  if (catalog === null) return BUILT_IN_MODELS;
  const source = typeof catalog === "string" ? catalog : "The catalog";
  const list = catalogFile.safeParse(typeof catalog === "string" ? readCatalogFile(catalog) : catalog);
  if (!list.success) throw broken(`${source} is no array of models.`);
  const entries = list.data.map((value, index) => parseEntry(value, index, source));
  const twice = entries.find((entry, index) => entries.findIndex(({ id }) => id === entry.id) !== index);
  if (twice) throw broken(`${source} has the model ${twice.id} twice.`);
  return entries.map((entry) => definitionOf(strict ? described(entry) : entry, families.of(entry.id)));
}
