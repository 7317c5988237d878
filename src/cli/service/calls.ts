import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Client, FollowEvent, Scope } from "../../core/api/index.ts";
import { writeDurably } from "../../core/kit/durable-file.ts";
import { dollars } from "../../core/kit/money.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { confirm } from "../input/confirm.ts";
import { duration, readDuration } from "../input/flag-values.ts";
import { readInput } from "../input/read-input.ts";
import { redrawOn } from "../live/redraw.ts";
import { visible } from "../text/escape.ts";
import { counted, shorten } from "../text/table.ts";
import { type Call, type CallFlags, type Perform, some, textFlag } from "./call.ts";
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

/** Submits under a key that is printed first, so that a submit whose answer was lost can be repeated. */
export const submitJob: Perform = async (call) => {
  const { client, args, flags, context } = call;
  const [model = ""] = args;
  const input = await readCallInput(flags, context);
  const { costMicros } = await client.estimate({ model, input });
  await confirmPrice(call, costMicros, `showrunner jobs submit ${visible(model)} … --yes`);
  const idempotencyKey = textFlag(flags, "key") ?? `cli-${randomUUID()}`;
  context.output.say(`Key ${visible(idempotencyKey)}: should the answer be lost, submit again with --key and this key`);
  return {
    type: "one",
    value: await client.submit({ model, input, idempotencyKey, webhook: textFlag(flags, "webhook") }),
  };
};

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

export const estimate: Perform = async ({ client, args: [model = ""], flags, context }) => ({
  type: "one",
  value: await client.estimate({ model, input: await readCallInput(flags, context) }),
});

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

/** A model's input from `--input` and `-i`; it is an object. */
export async function readCallInput(flags: CallFlags, { io }: Context): Promise<Readonly<Record<string, unknown>>> {
  const i = Array.isArray(flags.i) ? flags.i.filter((one): one is string => typeof one === "string") : [];
  const input = await readInput({ input: textFlag(flags, "input"), i }, io, { tables: null });
  if (isObject(input)) return input;
  throw new CliError("INPUT_INVALID", "a model's input is an object", {
    next: `--input '{"prompt": "…"}', or -i prompt="…"`,
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A paid call on a hosted service needs `--yes`, or a yes on the terminal. */
export async function confirmPrice(
  { kind, flags, context }: Call,
  costMicros: number | null,
  again: string,
): Promise<void> {
  if (kind === "local" || flags.yes === true) return;
  const price = costMicros === null ? "an amount that cannot be quoted" : dollars(costMicros);
  const what = `This spends real money (${price})`;
  const refused = "Not sent; nothing was spent";
  await confirm(context.io, { yes: false, question: `Spend ${price}?`, what, refused, next: again });
}

const groupings = ["total", "day", "model"] as const;

export const usage: Perform = async ({ client, flags }) => {
  const { data, ...total } = await client.usage({
    start: textFlag(flags, "start"),
    end: textFlag(flags, "end"),
    groupBy: groupings.find((one) => one === textFlag(flags, "groupBy")),
  });
  const value = { ...total, data };
  return {
    type: "one",
    value,
    ...(data.length > 0 && { rows: { of: "data", ...columns(data, ["key", "jobs", "spent"]) } }),
  };
};

export const createKey: Perform = async ({ client, flags }) => ({
  type: "one",
  value: await client.keys.create({
    name: textFlag(flags, "name"),
    scopes: scopesOf(flags),
    kind: flags.forWorkspace === true ? "service" : undefined,
    expiresAt: textFlag(flags, "expires"),
  }),
});

export const rotateKey: Perform = async ({ client, args: [id = ""], flags }) => ({
  type: "one",
  value: await client.keys.rotate(id, { gracePeriodSeconds: seconds(flags, "grace") }),
});

export const createToken: Perform = async ({ client, flags }) => ({
  type: "one",
  value: await client.tokens.create({ ttlSeconds: seconds(flags, "ttl"), scopes: scopesOf(flags) }),
});

/** Paid, without a key that would make it safe to repeat. */
export const chat: Perform = async (call) => {
  const [model = "", message = ""] = call.args;
  await confirmPrice(call, null, `showrunner chat ${visible(model)} … --yes`);
  const { raw: _raw, ...completion } = await call.client.chat({
    model,
    messages: [{ role: "user", content: message }],
  });
  if (call.flags.json || completion.content === null) return { type: "one", value: completion };
  call.context.output.print(visible(completion.content).replaceAll("\\n", "\n"));
  return { type: "done", said: `job ${visible(completion.id)}` };
};

function scopesOf(flags: CallFlags): Scope[] | undefined {
  const said = textFlag(flags, "scopes");
  return said === "none" ? [] : said?.split(",").map((scope) => scope.trim() as Scope);
}

function seconds(flags: CallFlags, name: string): number | undefined {
  const text = textFlag(flags, name);
  return text === undefined ? undefined : Math.round(readDuration(`--${name}`, text, "1h") / 1000);
}

/** The secret comes from the environment: a flag would show it to every process of the machine. */
export const createDrain: Perform = async ({ client, args: [name = "", url = ""], flags, context }) => ({
  type: "one",
  value: await client.drains.create({
    name,
    url,
    format: textFlag(flags, "format") === "otlp" ? "otlp" : "ndjson",
    secret: context.io.env.SHOWRUNNER_DRAIN_SECRET,
  }),
});
