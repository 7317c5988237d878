import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Client, Voice, VoiceQuery } from "../../core/api/index.ts";
import { writeDurably } from "../../core/kit/durable-file.ts";
import { CliError, ExitCode, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { whileWorking } from "../live/redraw.ts";
import type { Flags } from "../program/flags.ts";
import { printList, printOne, some, withClient } from "../service/present.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

const OPEN = { keyOptional: true };

const modalities = ["image", "video", "audio", "text"] as const;

export async function listModels(context: Context, flags: Flags["models list"]): Promise<ExitCode> {
  return withClient(flags, OPEN, async (client) => {
    const wanted = flags.modality;
    const modality = modalities.find((known) => known === wanted);
    if (modality === undefined && wanted !== undefined) {
      const { suggest } = await import("../../internal.ts");
      const [meant] = suggest(wanted, modalities);
      const hint = meant === undefined ? `use ${modalities.join(", ")}` : `did you mean ${meant}?`;
      const next = `showrunner models list --modality ${meant ?? modalities[0]}`;
      throw usageError(`--modality ${visible(wanted)} is not a modality; ${hint}`, next);
    }
    const found = await some(client.models({ modality }), flags.limit ?? "1000");
    printList(context, flags, found, ["id", "modality", "name", "price_description"]);
  });
}

export async function listVoices(context: Context, id: string, flags: Flags["models voices"]): Promise<ExitCode> {
  return withClient(flags, OPEN, async (client) => {
    const found =
      flags.search === undefined
        ? await some(client.voices(id), flags.limit ?? "1000")
        : await searched(client, id, flags.search, flags);
    printList(context, flags, found, ["id", "name", "labels"]);
  });
}

async function searched(
  client: Client,
  id: string,
  text: string,
  { limit: most = "50", gender, language }: Flags["models voices"],
): Promise<readonly Voice[]> {
  const limit = Math.min(50, Number(most));
  try {
    return await client.searchVoices(id, { q: text, limit, gender: gender as VoiceQuery["gender"], language });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const listed = await some(client.voices(id), "1000");
    return listed.filter(({ name }) => name?.toLowerCase().includes(text.toLowerCase())).slice(0, limit);
  }
}

export async function showModel(context: Context, id: string, flags: Flags["models show"]): Promise<ExitCode> {
  return withClient(flags, OPEN, async (client) => {
    const model = await client.model(id).catch(async (error: unknown) => {
      throw isNotFound(error) ? await unknownModel(client, id, error) : error;
    });
    // The printed schema is shortened. Its description explains how fields combine.
    const words = model.inputSchema?.description;
    printOne(context, flags, model, typeof words === "string" ? words : null);
  });
}

function isNotFound(error: unknown): error is Error {
  return error instanceof Error && "code" in error && error.code === "NOT_FOUND";
}

async function unknownModel(client: Client, id: string, cause: Error): Promise<CliError> {
  const { suggest } = await import("../../internal.ts");
  const known = (await some(client.models(), "1000")).map((model) => model.id);
  const [first, ...others] = suggest(id, known);
  const message = `Model ${visible(id)} does not exist`;
  const next = first === undefined ? "showrunner models list" : `showrunner models show ${first}`;
  const hint = first === undefined ? "" : `; did you mean ${[first, ...others].map(visible).join(" or ")}?`;
  return new CliError("USAGE", message + hint, { next, cause, exitCode: ExitCode.failed });
}

/** Keeps models that the service has removed, as retired ones. */
export async function pullModels(context: Context, flags: Flags["models pull"]): Promise<ExitCode> {
  const { io, output } = context;
  return withClient(flags, OPEN, async (client) => {
    const { generateModels, pullCatalog, readSnapshot, writeSnapshot } = await import("../../internal.ts");
    const folder = resolve(io.cwd, flags.out ?? ".");
    const snapshot = join(folder, "catalog.json");
    const previous = existsSync(snapshot) ? await readSnapshot(snapshot) : null;
    let progress = "reading the catalog";
    const onProgress = (read: number, all: number) => {
      progress = `reading the models one by one: ${read} of ${all}`;
    };
    const catalog = await whileWorking(context, pullCatalog(client, previous, { onProgress }), () => progress);
    await mkdir(folder, { recursive: true });
    await writeSnapshot(snapshot, catalog);
    await writeDurably(join(folder, "models.ts"), generateModels(catalog));
    if (flags.json) output.printJson({ ok: true });
    output.say(`Wrote ${visible(snapshot)} and models.ts with ${counted(catalog.models().length, "model")}`);
  });
}
