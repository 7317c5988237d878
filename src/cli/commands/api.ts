import { randomUUID } from "node:crypto";
import { text as textOf } from "node:stream/consumers";
import type { RawAnswer, RawRequest } from "../../core/api/index.ts";
import { parseJson } from "../../core/kit/json-text.ts";
import { dollars } from "../../core/kit/money.ts";
import type { Showrunner } from "../../index.ts";
import { CliError, ExitCode, usageError } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { parsedJson, readJson } from "../input/read-input.ts";
import { confirm, type Io } from "../io.ts";
import type { Flags } from "../program/flags.ts";
import { visible, visibleError, withoutControl } from "../text/escape.ts";
import { repeatedCommand } from "../text/next-line.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
type Method = (typeof METHODS)[number];

export async function api(
  context: Context,
  first: string,
  second: string | undefined,
  flags: Flags["api"],
): Promise<ExitCode> {
  const { io, output } = context;
  const { method, path } = targetOf(first, second, flags);
  const query = (flags.query ?? []).map((pair) => divided("--query", pair, "=", "limit=5"));
  const headers = (flags.header ?? []).map((line) => divided("--header", line, ":", "Name: value"));
  const trimmed = headers.map(([name, value]) => [name, value.trim()] as const);
  const json = flags.data === undefined ? undefined : await dataOf(flags.data, io);
  const model = method === "POST" ? submittedModel(path) : null;
  const submit = model === null ? null : withKey(json, flags.idempotencyKey);
  if (submit === null && flags.idempotencyKey !== undefined)
    throw usageError("--idempotency-key only works when a job is submitted", "showrunner api POST /models/MODEL");
  const body = submit === null ? json : submit.body;
  const request: RawRequest = { method, path, query, headers: Object.fromEntries(trimmed), json: body };
  const isPaid = method === "POST" && !isFree(path);
  const call = async (show: Showrunner): Promise<ExitCode> => {
    if (isPaid) await confirmPrice(show, model, body, flags, context);
    // Reading `interrupt` makes Ctrl-C end the wait instead of the process.
    const signal = io.interrupt;
    try {
      await printAnswer(await show.client.request(request, { signal }), flags, context);
      return ExitCode.done;
    } catch (error) {
      if (isPaid && isUncertain(error)) throw uncertain(error, submit, context);
      if (!signal.aborted) throw error;
      output.say("Interrupted; work already started on the service continues.");
      return ExitCode.interrupted;
    }
  };
  return withShowrunner(flags, call, { keyOptional: method === "GET" });
}

function targetOf(first: string, second: string | undefined, { data }: Flags["api"]): { method: Method; path: string } {
  const named = METHODS.find((one) => one === first.toUpperCase());
  if (second === undefined) {
    if (named !== undefined) throw usageError(`${named} needs a path`, `showrunner api ${named} /jobs`);
    return { method: data === undefined ? "GET" : "POST", path: first };
  }
  if (named === undefined)
    throw usageError(
      `${visible(first)} is not an HTTP method that the API supports`,
      `showrunner api METHOD PATH   (METHOD: ${METHODS.join(", ")})`,
    );
  if (named === "GET" && data !== undefined)
    throw usageError("a GET request cannot have --data", "use --query name=value, or POST");
  return { method: named, path: second };
}

function divided(flag: string, text: string, sign: string, example: string): [name: string, value: string] {
  const at = text.indexOf(sign);
  if (at < 1)
    throw usageError(`${flag} ${visible(text)} needs a name before "${sign}"`, `for example ${flag} "${example}"`);
  return [text.slice(0, at), text.slice(at + 1)];
}

async function dataOf(data: string, io: Io): Promise<unknown> {
  return data === "-" ? parsedJson(await textOf(io.stdin), "stdin", "--data") : readJson("--data", data, io);
}

function submittedModel(path: string): string | null {
  const [, model] = /^\/?models\/([^/?]+)(?:\?|$)/.exec(path) ?? [];
  try {
    return model === undefined ? null : decodeURIComponent(model);
  } catch {
    return null;
  }
}

/** Returns whether a POST request is free. Any other POST might create a paid job or a chat. */
function isFree(path: string): boolean {
  return /^\/?(?:models\/[^/?]+\/estimate|(?:files|keys|tokens|webhooks|log-drains)(?:\/[^?]*)?)(?:\?|$)/.test(path);
}

type Submit = ReturnType<typeof withKey>;

function withKey(json: unknown, given: string | undefined) {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    const next = `for example --data '{"input": {"prompt": "…"}}'`;
    throw new CliError("INPUT_INVALID", "--data must be a JSON object when submitting a job", { next });
  }
  const { idempotency_key: own } = json as { readonly idempotency_key?: unknown };
  if (typeof own === "string" && given !== undefined && own !== given)
    throw usageError("--idempotency-key differs from idempotency_key in --data", "omit one of them");
  const key = given ?? (typeof own === "string" ? own : `cli-${randomUUID()}`);
  return { key, body: { ...json, idempotency_key: key } };
}

async function confirmPrice(
  show: Showrunner,
  model: string | null,
  body: unknown,
  flags: Flags["api"],
  context: Context,
): Promise<void> {
  if (show.service.kind === "local" || flags.yes === true) return;
  const { input = {} } = (body ?? {}) as { readonly input?: Readonly<Record<string, unknown>> };
  const costMicros = model === null ? null : (await show.client.estimate({ model, input })).costMicros;
  const price = costMicros === null ? "an unknown amount" : dollars(costMicros);
  // If the body came from stdin, the answer cannot be read from there.
  await confirm(flags.data === "-" ? { ask: null } : context.io, {
    question: `Spend ${price}?`,
    what: `This spends real money (${price})`,
    refused: "Not sent; nothing was spent",
    next: repeatedCommand(context, "--yes"),
  });
}

function isUncertain(error: unknown): boolean {
  const { code, sent, envelope, status } = error as {
    code?: string;
    sent?: boolean;
    envelope?: boolean;
    status?: number;
  };
  if (code === "INVALID_OPTION" || sent === false) return false;
  if (status === undefined) return true;
  return !(envelope === true && status >= 400 && status < 500 && status !== 408 && status !== 409);
}

function uncertain(cause: unknown, submit: Submit | null, context: Context): CliError {
  const exitCode = context.io.interrupt.aborted ? ExitCode.interrupted : ExitCode.failed;
  const [what, next] =
    submit === null
      ? ["The request may still have been charged.", "showrunner jobs list   (shows whether the request created a job)"]
      : [
          `The job may have been created. To send the request again without creating a second job, use this idempotency key: ${visible(submit.key)}`,
          repeatedCommand(context, "--idempotency-key", submit.key),
        ];
  return new CliError("UNKNOWN_OUTCOME", `${visibleError(cause)}\n${what}`, { next, exitCode, cause });
}

async function printAnswer({ headers, body }: RawAnswer, { json }: Flags["api"], context: Context): Promise<void> {
  const { io } = context;
  const type = String(headers["content-type"] ?? "").toLowerCase();
  if (io.stdout.isTTY !== true) {
    for await (const chunk of body) io.stdout.write(chunk);
    return;
  }
  if (/^[^;]*json/.test(type)) {
    const text = await textOf(body);
    const parsed = json === true ? null : parseJson(text);
    const shown = parsed !== null && "value" in parsed ? JSON.stringify(parsed.value, null, 2) : text.trimEnd();
    io.stdout.write(withoutControl(`${shown}\n`));
    return;
  }
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    if (!type.startsWith("text/"))
      throw usageError(
        `The response (${visible(type) || "unknown type"}) cannot be shown in a terminal`,
        `${repeatedCommand(context)} > answer.bin`,
      );
    io.stdout.write(withoutControl(decoder.decode(chunk, { stream: true }).replaceAll("\r\n", "\n")));
  }
}
