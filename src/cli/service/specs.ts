import type { Client } from "../../core/api/index.ts";
import { type CallFlags, type Perform, some, type WireName } from "./call.ts";

type Flag = readonly [flags: string, description: string];

/** One command of the API as it stands in the help. */
export interface CallSpec {
  readonly description: string;
  readonly perform: Perform;
  readonly options: readonly Flag[];
}

type Ask<T> = (client: Client, id: string, flags: CallFlags) => T;

/** A call that answers with one thing. */
function one(description: string, get: Ask<Promise<object>>, options: readonly Flag[] = []): CallSpec {
  const perform: Perform = async ({ client, args: [id = ""], flags }) => {
    return { type: "one", value: await get(client, id, flags) };
  };
  return { description, perform, options };
}

type Fields<Row> = readonly WireName<keyof NoInfer<Row> & string>[];

/** A call that answers with a list; without `--limit` of a thousand at most, or of 20 where it has no end. */
function list<Row extends object>(
  description: string,
  fields: Fields<Row>,
  items: Ask<AsyncIterable<Row>>,
  { options = [], most = 1000 }: { readonly options?: readonly Flag[]; readonly most?: number } = {},
): CallSpec {
  const perform: Perform = async ({ client, args: [id = ""], flags }) => {
    return { type: "list", items: await some(items(client, id, flags), flags.limit ?? String(most)), fields };
  };
  return { description, perform, options: [...options, limit] };
}

/** A call that answers with nothing to show; `{id}` in what is said of it is its argument. */
function done(description: string, said: string, act: Ask<Promise<unknown>>): CallSpec {
  const perform: Perform = async ({ client, args: [id = ""], flags }) => {
    await act(client, id, flags);
    return { type: "done", said: said.replace("{id}", () => id) };
  };
  return { description, perform, options: [] };
}

type Calls = typeof import("./calls.ts");
type CallName = { [N in keyof Calls]: Calls[N] extends Perform ? N : never }[keyof Calls];

/** A call that is more than one request; loaded when it is made, so that help stays light. */
function made(description: string, name: CallName, options: readonly Flag[] = []): CallSpec {
  return { description, perform: async (call) => (await import("./calls.ts"))[name](call), options };
}

const limit: Flag = ["--limit <n>", "list at most this many"];
const yes: Flag = ["--yes", "agree to the price"];
const input: readonly Flag[] = [
  ["--input <json|@file>", "the model's input"],
  ["-i <key=value>", "one field of the input; key:=json for anything but text"],
];
const scopes: Flag = [
  "--scopes <list>",
  "scopes, separated by commas; none for one that may do nothing (default: all)",
];
const keyFields = ["key_id", "name", "kind", "status", "scopes", "last_used_at"] as const;
const deliveryFields = ["job_id", "event_type", "status", "attempts", "last_response_status"] as const;

/** Every endpoint of the API that is no part of running a pipeline, by group, verb and arguments; a group of one word has no verb. */
export const callSpecs: Readonly<Record<string, CallSpec>> = {
  "models list": made("list the models", "listModels", [["--modality <kind>", "image, video or audio"], limit]),
  "models show <model>": made("show a model with its schemas", "showModel"),
  "models pull": made("write the catalog and the types of its models", "pullModels", [
    ["--out <dir>", "folder of catalog.json and models.ts (default: this one)"],
  ]),
  "models voices <model>": list(
    "list a speech model's voices",
    ["id", "name", "labels"],
    (client: Client, id: string) => client.voices(id),
  ),
  "estimate <model>": made("ask what a job would cost", "estimate", input),
  "jobs list": list(
    "list jobs, newest first",
    ["job_id", "model", "status", "cost", "created_at"],
    (client: Client, _id: string, { model }: CallFlags) =>
      typeof model === "string" ? client.modelJobs(model) : client.jobs(),
    { options: [["--model <id>", "only of this model"]], most: 20 },
  ),
  "jobs get <job-id>": one("show a job with its outputs", (client, id) => client.job(id)),
  "jobs status <job-id>": one("show how far a job is", (client, id) => client.status(id)),
  "jobs logs <job-id>": list(
    "list a job's events, oldest first",
    ["id", "timestamp", "level", "event", "message"],
    (client: Client, id: string) => client.logs(id),
  ),
  "jobs follow <job-id>": made("watch a job to its end", "followJob"),
  "jobs submit <model>": made("submit one job outside any run", "submitJob", [
    ...input,
    ["--key <key>", "idempotency key (default: generated and printed)"],
    ["--webhook <url>", "webhook URL that is notified when it ends"],
    yes,
  ]),
  "jobs delete <job-id>": done(
    "delete a finished job's outputs for good",
    "deleted the outputs of {id}; the job stays listed",
    (client, id) => client.deleteJob(id),
  ),
  "files upload <path>": made("upload a file; free", "uploadFile"),
  usage: made("show jobs and spending of a time", "usage", [
    ["--start <instant>", "ISO-8601"],
    ["--end <instant>", "ISO-8601"],
    ["--group-by <what>", "total, day or model"],
  ]),
  "chat <model> <message>": made("ask a language model; paid", "chat", [yes]),
  "keys list": list("list API keys", keyFields, (client: Client) => client.keys.list()),
  "keys create": made("create an API key; its secret is shown once", "createKey", [
    ["--name <name>", "what it is for"],
    scopes,
    ["--for-workspace", "belongs to the workspace, not to you"],
    ["--expires <instant>", "ISO-8601"],
  ]),
  "keys rotate <key-id>": made("give a key a new secret", "rotateKey", [
    ["--grace <duration>", "how long the old secret still works"],
  ]),
  "keys delete <key-id>": done("revoke a key", "revoked key {id}", (client, id) => client.keys.delete(id)),
  "tokens create": made("mint a token for a browser", "createToken", [
    ["--ttl <duration>", "how long it works"],
    scopes,
  ]),
  "webhooks show": one("show the default webhook", (client) => client.webhooks.default.get()),
  "webhooks set <url>": one(
    "set the default webhook",
    (client, url, { disabled }) => client.webhooks.default.set({ url, enabled: disabled !== true }),
    [["--disabled", "keep it, but send nothing"]],
  ),
  "webhooks unset": done("remove the default webhook", "removed the default webhook", (client) =>
    client.webhooks.default.delete(),
  ),
  "webhooks test": one("send a test event to it", (client) => client.webhooks.default.test()),
  "webhooks deliveries": list(
    "list deliveries, newest first",
    deliveryFields,
    (client: Client) => client.webhooks.deliveries(),
    { most: 20 },
  ),
  "webhooks redeliver <job-id>": one("send a finished delivery again", (client, id) => client.webhooks.redeliver(id)),
  "webhooks public-key": one("show the key that deliveries are signed with", (client) => client.webhooks.publicKey()),
  "drains list": list(
    "list log drains",
    ["id", "name", "format", "enabled", "consecutive_failures"],
    (client: Client) => client.drains.list(),
  ),
  "drains show <drain-id>": one("show a log drain", (client, id) => client.drains.get(id)),
  "drains create <name> <url>": made("create a log drain; its secret is SHOWRUNNER_DRAIN_SECRET", "createDrain", [
    ["--format <format>", "ndjson (default) or otlp"],
  ]),
  "drains enable <drain-id>": one("switch a drain on", (client, id) => client.drains.update(id, { enabled: true })),
  "drains disable <drain-id>": one("switch a drain off", (client, id) => client.drains.update(id, { enabled: false })),
  "drains test <drain-id>": one("send a test batch", (client, id) => client.drains.test(id)),
  "drains delete <drain-id>": done("delete a drain", "deleted drain {id}", (client, id) => client.drains.delete(id)),
};
