import { visible } from "../text/escape.ts";
import { type Perform, some, textFlag } from "./call.ts";
import { columns } from "./present.ts";

export const showWebhook: Perform = async ({ client }) => ({ type: "one", value: await client.webhooks.default.get() });

export const setWebhook: Perform = async ({ client, args: [url = ""], flags }) => ({
  type: "one",
  value: await client.webhooks.default.set({ url, enabled: flags.disabled !== true }),
});

export const unsetWebhook: Perform = async ({ client }) => {
  await client.webhooks.default.delete();
  return { type: "done", said: "removed the default webhook" };
};

export const testWebhook: Perform = async ({ client }) => ({
  type: "one",
  value: await client.webhooks.default.test(),
});

export const listDeliveries: Perform = async ({ client, flags }) => ({
  type: "list",
  ...columns(await some(client.webhooks.deliveries(), flags.limit), [
    "job_id",
    "event_type",
    "status",
    "attempts",
    "last_response_status",
  ]),
});

export const redeliver: Perform = async ({ client, args: [jobId = ""] }) => ({
  type: "one",
  value: await client.webhooks.redeliver(jobId),
});

export const publicKey: Perform = async ({ client }) => ({ type: "one", value: await client.webhooks.publicKey() });

export const listDrains: Perform = async ({ client, flags }) => ({
  type: "list",
  ...columns(await some(client.drains.list(), flags.limit ?? "1000"), [
    "id",
    "name",
    "format",
    "enabled",
    "consecutive_failures",
  ]),
});

export const showDrain: Perform = async ({ client, args: [id = ""] }) => ({
  type: "one",
  value: await client.drains.get(id),
});

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

export const enableDrain: Perform = async ({ client, args: [id = ""] }) => ({
  type: "one",
  value: await client.drains.update(id, { enabled: true }),
});

export const disableDrain: Perform = async ({ client, args: [id = ""] }) => ({
  type: "one",
  value: await client.drains.update(id, { enabled: false }),
});

export const testDrain: Perform = async ({ client, args: [id = ""] }) => ({
  type: "one",
  value: await client.drains.test(id),
});

export const deleteDrain: Perform = async ({ client, args: [id = ""] }) => {
  await client.drains.delete(id);
  return { type: "done", said: `deleted drain ${visible(id)}` };
};
