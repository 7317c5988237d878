import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Client } from "../../api/index.ts";
import { writeDurably } from "../../durable-file.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import { visible } from "../text/escape.ts";
import { readCallInput } from "./call.ts";
import { columns } from "./present.ts";
import { type Perform, some, textFlag } from "./spec.ts";

const modalities = ["image", "video", "audio"] as const;

export const listModels: Perform = async ({ client, flags }) => {
  const modality = modalities.find((one) => one === textFlag(flags, "modality"));
  return {
    type: "list",
    ...columns(await some(client.models({ modality }), flags.limit ?? "1000"), [
      "id",
      "modality",
      "name",
      "price_description",
    ]),
  };
};

export const showModel: Perform = async ({ client, args: [id = ""] }) => {
  try {
    return { type: "one", value: await client.model(id) };
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "NOT_FOUND") throw error;
    throw await unknownModel(client, id, error);
  }
};

async function unknownModel(client: Client, id: string, cause: Error): Promise<CliError> {
  const { suggest } = await import("../../index.ts");
  const known = (await some(client.models(), "1000")).map((model) => model.id);
  const [first, ...others] = suggest(id, known);
  const message = `There is no model ${visible(id)}`;
  const next = first === undefined ? "showrunner models list" : `showrunner models show ${first}`;
  const hint = first === undefined ? "" : `; did you mean ${[first, ...others].map(visible).join(" or ")}?`;
  return new CliError("USAGE", message + hint, { next, cause, exitCode: ExitCode.failed });
}

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
  await writeDurably(join(folder, "models.ts"), generateModels(catalog));
  return { type: "done", said: `wrote ${visible(snapshot)} and models.ts, ${catalog.models().length} models` };
};
