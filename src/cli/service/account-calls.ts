import type { Scope } from "../../api/index.ts";
import { readDuration } from "../input/flag-values.ts";
import { visible } from "../text/escape.ts";
import { confirmPrice } from "./call.ts";
import { columns } from "./present.ts";
import { type CallFlags, type Perform, textFlag } from "./spec.ts";

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
    kind: flags.service === true ? "service" : undefined,
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
  return textFlag(flags, "scopes")
    ?.split(",")
    .map((scope) => scope.trim() as Scope);
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
