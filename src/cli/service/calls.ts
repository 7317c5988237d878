import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Client, FollowEvent, Voice, VoiceQuery } from "../../core/api/index.ts";
import { writeDurably } from "../../core/kit/durable-file.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { duration } from "../input/flag-values.ts";
import { redrawOn } from "../live/redraw.ts";
import { visible } from "../text/escape.ts";
import { counted, shorten } from "../text/table.ts";
import { type Perform, some, textFlag } from "./call.ts";
import { columns } from "./present.ts";

/** Milliseconds between two pictures on a terminal, and between two lines elsewhere. */
const frameMs = 250;
const firstLineMs = 1_000;
const lineMs = 10_000;

/**
 * Waits for long work and says that it continues: a line that is redrawn on a terminal, now and then a line elsewhere.
 * `detail` is called each time for the text beside the time.
 */
export async function whileWorking<T>({ io, output }: Context, work: Promise<T>, detail: () => string): Promise<T> {
  const canRedraw = io.stderr.isTTY === true && io.env.TERM !== "dumb" && !io.env.CI;
  const began = performance.now();
  const line = () => `${detail()}  ${duration(performance.now() - began)}`;
  if (!canRedraw) {
    const first = setTimeout(() => output.say(line()), firstLineMs);
    const timer = setInterval(() => output.say(line()), lineMs);
    return work.finally(() => {
      clearTimeout(first);
      clearInterval(timer);
    });
  }
  const lines = redrawOn(io.stderr);
  const timer = setInterval(() => lines.show(shorten(line(), (io.stderr.columns ?? 80) - 1)), frameMs);
  return work.finally(() => {
    clearInterval(timer);
    lines.clear();
  });
}

export const followJob: Perform = async ({ client, args: [id = ""], context }) => ({
  type: "lines",
  lines: followLines(client.follow(id, { signal: context.io.interrupt })),
});

async function* followLines(events: AsyncIterable<FollowEvent>) {
  for await (const event of events) yield { text: followText(event), value: event };
}

function followText(event: FollowEvent): string {
  switch (event.type) {
    case "status": {
      const { status, progress } = event.status;
      return `${visible(status)}${progress === null ? "" : ` ${Math.round(progress * 100)} %`}`;
    }
    case "log":
      return `  ${visible(event.log.event)}: ${visible(event.log.message)}`;
    case "switched":
      return `  now following by ${event.to}: ${visible(event.reason)}`;
    case "finished":
      return `${event.outcome}: ${counted(event.job.outputs.length, "output")}; see: showrunner jobs get ${visible(event.job.jobId)}`;
    default:
      return event satisfies never;
  }
}

export const uploadFile: Perform = async ({ client, args: [path = ""], context }) => {
  let progress = "reading";
  const onProgress = (sentBytes: number, totalBytes: number) => {
    progress = `uploaded ${megabytes(sentBytes)} of ${megabytes(totalBytes)} MB`;
  };
  return { type: "one", value: await whileWorking(context, client.upload({ path }, { onProgress }), () => progress) };
};

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

const modalities = ["image", "video", "audio", "text"] as const;

export const listModels: Perform = async ({ client, flags }) => {
  const wanted = textFlag(flags, "modality");
  const modality = modalities.find((known) => known === wanted);
  if (modality === undefined && wanted !== undefined) {
    const { suggest } = await import("../../internal.ts");
    const [meant] = suggest(wanted, modalities);
    const hint = meant === undefined ? `the kinds are ${modalities.join(", ")}` : `did you mean ${meant}?`;
    const next = `showrunner models list --modality ${meant ?? modalities[0]}`;
    throw new CliError("USAGE", `--modality ${visible(wanted)} is no kind of model; ${hint}`, { next });
  }
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

export const listVoices: Perform = async ({ client, args: [id = ""], flags }) => {
  const [q, gender, language] = ["search", "gender", "language"].map((name) => textFlag(flags, name));
  const found = q === undefined ? await some(client.voices(id), flags.limit ?? "1000") : await searched(q);
  return { type: "list", ...columns(found, ["id", "name", "labels"]) };

  /** A service without a search is searched in what it lists. */
  async function searched(text: string): Promise<readonly Voice[]> {
    const limit = Math.min(50, Number(flags.limit ?? 50));
    try {
      return await client.searchVoices(id, { q: text, limit, gender: gender as VoiceQuery["gender"], language });
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error) || error.code !== "NOT_FOUND") throw error;
      const listed = await some(client.voices(id), "1000");
      return listed.filter(({ name }) => name?.toLowerCase().includes(text.toLowerCase())).slice(0, limit);
    }
  }
};

export const showModel: Perform = async ({ client, args: [id = ""] }) => {
  try {
    const value = await client.model(id);
    // Which fields go together is published here; the schema above is cut.
    const words = value.inputSchema?.description;
    return { type: "one", value, ...(typeof words === "string" && { text: words }) };
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "NOT_FOUND") throw error;
    throw await unknownModel(client, id, error);
  }
};

async function unknownModel(client: Client, id: string, cause: Error): Promise<CliError> {
  const { suggest } = await import("../../internal.ts");
  const known = (await some(client.models(), "1000")).map((model) => model.id);
  const [first, ...others] = suggest(id, known);
  const message = `There is no model ${visible(id)}`;
  const next = first === undefined ? "showrunner models list" : `showrunner models show ${first}`;
  const hint = first === undefined ? "" : `; did you mean ${[first, ...others].map(visible).join(" or ")}?`;
  return new CliError("USAGE", message + hint, { next, cause, exitCode: ExitCode.failed });
}

/** Writes what the catalog is now, and its types; models that are gone stay known as retired. */
export const pullModels: Perform = async ({ client, flags, context }) => {
  const { generateModels, pullCatalog, readSnapshot, writeSnapshot } = await import("../../internal.ts");
  const folder = resolve(context.io.cwd, textFlag(flags, "out") ?? ".");
  const snapshot = join(folder, "catalog.json");
  const previous = existsSync(snapshot) ? await readSnapshot(snapshot) : null;
  let progress = "reading the catalog";
  const onProgress = (read: number, all: number) => {
    progress = `read ${read} of ${counted(all, "model")} one by one`;
  };
  const catalog = await whileWorking(context, pullCatalog(client, previous, { onProgress }), () => progress);
  await mkdir(folder, { recursive: true });
  await writeSnapshot(snapshot, catalog);
  await writeDurably(join(folder, "models.ts"), generateModels(catalog));
  return { type: "done", said: `wrote ${visible(snapshot)} and models.ts, ${catalog.models().length} models` };
};
