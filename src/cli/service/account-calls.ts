import type { Scope } from "../../api/index.ts";
import { CliError } from "../cli-error.ts";
import { parseDuration } from "../input/flag-values.ts";
import { visible } from "../text/escape.ts";
import { type CallFlags, confirmPrice, type Perform, some, textFlag } from "./call.ts";
import { columns } from "./present.ts";

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

export const listKeys: Perform = async ({ client, flags }) => ({
  type: "list",
  ...columns(await some(client.keys.list(), flags.limit ?? "1000"), [
    "key_id",
    "name",
    "kind",
    "status",
    "last_used_at",
  ]),
});

export const createKey: Perform = async ({ client, flags }) => ({
  type: "one",
  value: await client.keys.create({
    name: textFlag(flags, "name"),
    scopes: scopesOf(flags),
    kind: flags.service === true ? "service" : undefined,
    expiresAt: textFlag(flags, "expires"),
  }),
});

export const rotateKey: Perform = async ({ client, args: [id = ""], flags }) => ({
  type: "one",
  value: await client.keys.rotate(id, { gracePeriodSeconds: seconds(flags, "grace") }),
});

export const deleteKey: Perform = async ({ client, args: [id = ""] }) => {
  await client.keys.delete(id);
  return { type: "done", said: `revoked key ${visible(id)}` };
};

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
  return textFlag(flags, "scopes")
    ?.split(",")
    .map((scope) => scope.trim() as Scope);
}

function seconds(flags: CallFlags, name: string): number | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== null) return Math.round(ms / 1000);
  throw new CliError("USAGE", `--${name} ${visible(text)} is no duration`, { next: `write it as --${name} 1h` });
}
