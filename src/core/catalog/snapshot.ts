import { readFile } from "node:fs/promises";
import { z } from "zod";
import { ShowrunnerError } from "../kit/errors.ts";
import { writeDurably } from "../kit/files.ts";
import type { Catalog, CatalogModel } from "../plan/index.ts";
import { catalogOf, described } from "./catalog.ts";

/** A catalog snapshot could not be read: it is missing, is not JSON, or is not a list of models. */
export class SnapshotError extends ShowrunnerError {
  readonly code = "CATALOG_SNAPSHOT";
}

const text = z.string().nullable().default(null);
const record = z.record(z.string(), z.unknown()).nullable().default(null);

const entry = z.object({
  id: z.string().min(1),
  modality: text,
  name: text,
  description: text,
  price_description: text,
  input_schema: record,
  output_schema: record,
  state: z.enum(["live", "retired", "unsupported", "unknown"]).optional(),
  replaced_by: z.string().optional(),
});

export function snapshotText(catalog: Catalog): string {
  const entries = [...catalog.models()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(toEntry);
  return `${JSON.stringify(entries, null, 2)}\n`;
}

function toEntry(model: CatalogModel): z.input<typeof entry> {
  return {
    id: model.id,
    modality: model.modality,
    name: model.name,
    description: model.description,
    price_description: model.priceDescription,
    ...(model.state !== "live" && { state: model.state }),
    ...(model.replacedBy !== undefined && { replaced_by: model.replacedBy }),
    input_schema: { ...model.inputSchema },
    output_schema: Object.keys(model.outputSchema).length === 0 ? null : { ...model.outputSchema },
  };
}

export function parseSnapshot(json: string, name = "the catalog snapshot"): Catalog {
  let data: unknown;
  try {
    data = JSON.parse(json);
  } catch (cause) {
    throw new SnapshotError(`${name} is not JSON; write it again with: showrunner models pull`, { cause });
  }
  const parsed = z.array(entry).safeParse(data);
  if (parsed.success) return catalogOf(parsed.data.map(toModel));
  const [issue] = parsed.error.issues;
  const where = issue === undefined ? "" : ` (${issue.path.join(".")}: ${issue.message})`;
  throw new SnapshotError(`${name} is not a list of models${where}; write it again with: showrunner models pull`);
}

function toModel(from: z.output<typeof entry>): CatalogModel {
  const model = described({
    id: from.id,
    modality: from.modality,
    name: from.name,
    description: from.description,
    priceDescription: from.price_description,
    inputSchema: from.input_schema,
    outputSchema: from.output_schema,
  });
  const state = from.state ?? model.state;
  return { ...model, state, ...(from.replaced_by !== undefined && { replacedBy: from.replaced_by }) };
}

export async function readSnapshot(path: string): Promise<Catalog> {
  let json: string;
  try {
    json = await readFile(path, "utf8");
  } catch (cause) {
    throw new SnapshotError(`${path} cannot be read; write it with: showrunner models pull`, { cause });
  }
  return parseSnapshot(json, path);
}

export async function writeSnapshot(path: string, catalog: Catalog): Promise<void> {
  await writeDurably(path, snapshotText(catalog));
}
