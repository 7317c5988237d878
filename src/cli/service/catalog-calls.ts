import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { visible } from "../text/escape.ts";
import { type Perform, some, textFlag } from "./call.ts";
import { readCallInput } from "./call-input.ts";

const modalities = ["image", "video", "audio"] as const;

export const listModels: Perform = async ({ client, flags }) => {
  const modality = modalities.find((one) => one === textFlag(flags, "modality"));
  return {
    type: "list",
    items: await some(client.models({ modality }), flags.limit ?? "1000"),
    fields: ["id", "modality", "name", "price_description"],
  };
};

export const showModel: Perform = async ({ client, args: [id = ""] }) => ({
  type: "one",
  value: await client.model(id),
});

export const listVoices: Perform = async ({ client, args: [id = ""], flags }) => ({
  type: "list",
  items: await some(client.voices(id), flags.limit ?? "1000"),
  fields: ["id", "name", "labels"],
});

export const estimate: Perform = async ({ client, args: [model = ""], flags, context }) => ({
  type: "one",
  value: await client.estimate({ model, input: await readCallInput(flags, context) }),
});

/** Writes what the catalog is now, and its types; models that are gone stay known as retired. */
export const pullModels: Perform = async ({ client, flags, context }) => {
  const { generateModels, pullCatalog, readSnapshot, writeSnapshot } = await import("../../index.ts");
  const folder = resolve(context.io.cwd, textFlag(flags, "out") ?? ".");
  const snapshot = join(folder, "catalog.json");
  const previous = existsSync(snapshot) ? await readSnapshot(snapshot) : null;
  const catalog = await pullCatalog(client, previous);
  await mkdir(folder, { recursive: true });
  await writeSnapshot(snapshot, catalog);
  await writeFile(join(folder, "models.ts"), generateModels(catalog));
  return { type: "done", said: `wrote ${visible(snapshot)} and models.ts, ${catalog.models().length} models` };
};
