import { seeded } from "../../core/api/support/seeded.ts";
import { DEFS, type Draw, drawWith, type Field, field } from "./fields.ts";
import {
  eitherSource,
  lengthOfLevel,
  levels,
  type Mode,
  oneWay,
  pictureOrShape,
  type Row,
  sizes,
  tableText,
  threeWays,
} from "./tables.ts";

export type { MediaOf, Value } from "./fields.ts";
export { breaking, fits, fulfilling, type Input, requiredOnly } from "./inputs.ts";
export { type Row, tableText } from "./tables.ts";

/** A live model of the catalog, with its table as data. */
export interface LargeModel {
  readonly id: string;
  readonly fields: ReadonlyMap<string, Field>;
  readonly required: readonly string[];
  /** Rows of the table; empty for a model without a table. */
  readonly rows: readonly Row[];
}

/** A catalog that is as large and irregular as a real catalog. */
export interface LargeCatalog {
  /** Entries for the local service's option `catalog` and flag `--catalog`. */
  readonly entries: readonly { readonly id: string; readonly [name: string]: unknown }[];
  readonly models: readonly LargeModel[];
  /** Retired ids with their successors. */
  readonly retired: Readonly<Record<string, string>>;
  /** Ids that the service announces but does not support yet; it lists only the first. */
  readonly unsupported: readonly string[];
}

/** Numbers of models that publish a table, by kind: 37 models with 95 rows in total. */
const TABLES: readonly (readonly [count: number, make: (draw: Draw) => Mode])[] = [
  [2, levels],
  [4, pictureOrShape],
  [2, lengthOfLevel],
  [2, eitherSource],
  [14, threeWays],
  [7, oneWay],
  [6, sizes],
];

type Untabled = readonly [count: number, modality: Mode["modality"], required: string, optional: string];

/** Numbers of models that publish no table: 39 in total. */
const OTHERS: readonly Untabled[] = [
  [9, "image", "prompt", "images size_px style num_outputs seed aspect_ratio"],
  [6, "video", "prompt duration_ms", "resolution aspect_ratio generate_audio seed"],
  [5, "video", "prompt start_image", "end_image duration_ms bounding_box"],
  [2, "video", "source_video prompt", "images mask"],
  [2, "video", "source_video", "resolution"],
  [6, "audio", "text voice_id", "seed"],
  [2, "audio", "audio name", ""],
  [5, "video", "start_image audio", "prompt resolution aspect_ratio"],
  [2, "audio", "prompt duration_ms", "lyrics seed"],
];

const namesIn = (text: string) => text.split(" ").filter((name) => name !== "");

function modesOf(draw: Draw): readonly Mode[] {
  const tabled = TABLES.flatMap(([count, make]) => Array.from({ length: count }, () => make(draw)));
  const others = OTHERS.flatMap(([count, modality, required, optional]) =>
    Array.from({ length: count }, (): Mode => {
      const names = [...namesIn(required), ...namesIn(optional)];
      return { modality, names, required: namesIn(required), rows: [] };
    }),
  );
  return [...tabled, ...others];
}

const FAMILIES = "aurora basalt cedar delta ember fjord garnet harbor indigo juniper kelp lumen mica nova onyx".split(
  " ",
);
const EDITIONS = ["", "-pro", "-fast", "-turbo", "-edit", "-lite"];
/** Ids of families that have built-in rules. */
const KNOWN = ["kling-26-lite", "kling-3", "kling-30-turbo"];

/** Generates unique ids, with versions written in the different ways of services. */
function* ids(draw: Draw): Generator<string> {
  const used = new Set<string>();
  for (;;) {
    const version = draw.one(["1", "2", "2-5", "3-0", "4.0", "10"]);
    const id = `${draw.one(FAMILIES)}-${version}${draw.one(EDITIONS)}`;
    if (!used.has(id)) yield id;
    used.add(id);
  }
}

function modelOf(id: string, mode: Mode, draw: Draw): LargeModel {
  const fields = new Map(mode.names.map((name) => [name, mode.own?.[name] ?? field(name, draw)]));
  return { id, fields, required: mode.required, rows: mode.rows };
}

function entryOf(model: LargeModel, { modality }: Mode, draw: Draw) {
  const schemas = [...model.fields].map(([name, { schema }]) => [name, schema] as const);
  const described = `Input of ${model.id}.`;
  const input_schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    additionalProperties: false,
    description: model.rows.length === 0 ? described : `${described}\n\n${tableText(model.rows)}`,
    required: model.required,
    properties: Object.fromEntries(schemas),
    $defs: DEFS,
  };
  const price = draw.number(1, 40) / 100;
  const words = {
    name: model.id,
    description: `Makes ${modality}.`,
    price_description: `$${price} a job`,
    logo_url: null,
  };
  return { id: model.id, modality, ...words, input_schema, x_local: { price_usd: price } };
}

/** Creates a catalog from a seed: 76 usable models, three retired models and two announced models. */
export function largeCatalog(seed = 1): LargeCatalog {
  const draw = drawWith(seeded(seed));
  const fresh = ids(draw);
  const nextId = () => fresh.next().value as string;
  const modes = modesOf(draw);
  const named: Readonly<Record<number, string>> = { 0: KNOWN[1]!, 8: KNOWN[0]!, 10: KNOWN[2]! };
  const built = modes.map((mode, index) => ({ mode, model: modelOf(named[index] ?? nextId(), mode, draw) }));
  const live = built.map(({ mode, model }) => entryOf(model, mode, draw));
  const retired = Object.fromEntries(["retired-1", "retired-2", "retired-3"].map((id) => [id, draw.one(live).id]));
  const unsupported = ["to-come-1", "to-come-2"];
  const gone = (id: string, x_local: object) => ({ ...live[0]!, id, x_local });
  return {
    models: built.map(({ model }) => model),
    entries: [
      ...live,
      ...Object.entries(retired).map(([id, replaced_by]) => gone(id, { replaced_by })),
      ...unsupported.map((id, index) =>
        gone(id, { unsupported: `The model ${id} is not supported on v3 yet.`, listed: index === 0 }),
      ),
    ],
    retired,
    unsupported,
  };
}
