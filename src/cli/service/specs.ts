import { type Call, type CallSpec, done, list, one } from "./spec.ts";

const calls = () => import("./calls.ts");

const limit = ["--limit <n>", "list at most this many"] as const;
const yes = ["--yes", "agree to the price"] as const;
const input = [
  ["--input <json|@file>", "the model's input"],
  ["-i <key=value>", "one field of the input; key:=json for anything but text"],
] as const;
const scopes = ["--scopes <list>", "scopes, separated by commas"] as const;

/** Every endpoint of the API that is no part of running a pipeline. */
export const callSpecs: readonly CallSpec[] = [
  {
    name: "models list",
    description: "list the models",
    options: [["--modality <kind>", "image, video or audio"], limit],
    load: async () => (await calls()).listModels,
  },
  {
    name: "models show",
    description: "show a model with its schemas",
    args: ["<model>"],
    load: async () => (await calls()).showModel,
  },
  {
    name: "models pull",
    description: "write the catalog and the types of its models",
    options: [["--out <dir>", "folder of catalog.json and models.ts (default: this one)"]],
    load: async () => (await calls()).pullModels,
  },
  {
    name: "models voices",
    description: "list a speech model's voices",
    args: ["<model>"],
    options: [limit],
    load: list(({ client, args: [id = ""] }: Call) => client.voices(id), ["id", "name", "labels"]),
  },
  {
    name: "estimate",
    description: "ask what a job would cost",
    args: ["<model>"],
    options: input,
    load: async () => (await calls()).estimate,
  },
  {
    name: "jobs list",
    description: "list jobs, newest first",
    options: [["--model <id>", "only of this model"], limit],
    load: list(
      ({ client, flags: { model } }: Call) => (typeof model === "string" ? client.modelJobs(model) : client.jobs()),
      ["job_id", "model", "status", "cost", "created_at"],
      20,
    ),
  },
  {
    name: "jobs get",
    description: "show a job with its outputs",
    args: ["<job-id>"],
    load: one((client, [id = ""]) => client.job(id)),
  },
  {
    name: "jobs status",
    description: "show how far a job is",
    args: ["<job-id>"],
    load: one((client, [id = ""]) => client.status(id)),
  },
  {
    name: "jobs logs",
    description: "list a job's events, oldest first",
    args: ["<job-id>"],
    options: [limit],
    load: list(
      ({ client, args: [id = ""] }: Call) => client.logs(id),
      ["id", "timestamp", "level", "event", "message"],
    ),
  },
  {
    name: "jobs follow",
    description: "watch a job to its end",
    args: ["<job-id>"],
    load: async () => (await calls()).followJob,
  },
  {
    name: "jobs submit",
    description: "submit one job outside any run",
    args: ["<model>"],
    options: [
      ...input,
      ["--key <key>", "idempotency key (default: generated and printed)"],
      ["--webhook <url>", "webhook URL that is told of its end"],
      yes,
    ],
    load: async () => (await calls()).submitJob,
  },
  {
    name: "jobs delete",
    description: "delete a finished job's outputs for good",
    args: ["<job-id>"],
    load: done(
      (client, [id = ""]) => client.deleteJob(id),
      (id) => `deleted the outputs of ${id}; the job stays listed`,
    ),
  },
  {
    name: "files upload",
    description: "upload a file; free",
    args: ["<path>"],
    load: async () => (await calls()).uploadFile,
  },
  {
    name: "usage",
    description: "show jobs and spending of a time",
    options: [
      ["--start <instant>", "ISO-8601"],
      ["--end <instant>", "ISO-8601"],
      ["--group-by <what>", "total, day or model"],
    ],
    load: async () => (await calls()).usage,
  },
  {
    name: "chat",
    description: "ask a language model; paid",
    args: ["<model>", "<message>"],
    options: [yes],
    load: async () => (await calls()).chat,
  },
  {
    name: "keys list",
    description: "list API keys",
    options: [limit],
    load: list(({ client }: Call) => client.keys.list(), ["key_id", "name", "kind", "status", "last_used_at"]),
  },
  {
    name: "keys create",
    description: "create an API key; its secret is shown once",
    options: [
      ["--name <name>", "what it is for"],
      scopes,
      ["--service", "belongs to the workspace, not to you"],
      ["--expires <instant>", "ISO-8601"],
    ],
    load: async () => (await calls()).createKey,
  },
  {
    name: "keys rotate",
    description: "give a key a new secret",
    args: ["<key-id>"],
    options: [["--grace <duration>", "how long the old secret still works"]],
    load: async () => (await calls()).rotateKey,
  },
  {
    name: "keys delete",
    description: "revoke a key",
    args: ["<key-id>"],
    load: done(
      (client, [id = ""]) => client.keys.delete(id),
      (id) => `revoked key ${id}`,
    ),
  },
  {
    name: "tokens create",
    description: "mint a token for a browser",
    options: [["--ttl <duration>", "how long it works"], scopes],
    load: async () => (await calls()).createToken,
  },
  {
    name: "webhooks show",
    description: "show the default webhook",
    load: one((client) => client.webhooks.default.get()),
  },
  {
    name: "webhooks set",
    description: "set the default webhook",
    args: ["<url>"],
    options: [["--disabled", "keep it, but send nothing"]],
    load: one((client, [url = ""], { disabled }) => client.webhooks.default.set({ url, enabled: disabled !== true })),
  },
  {
    name: "webhooks unset",
    description: "remove the default webhook",
    load: done(
      (client) => client.webhooks.default.delete(),
      () => "removed the default webhook",
    ),
  },
  {
    name: "webhooks test",
    description: "send a test event to it",
    load: one((client) => client.webhooks.default.test()),
  },
  {
    name: "webhooks deliveries",
    description: "list deliveries, newest first",
    options: [limit],
    load: list(
      ({ client }: Call) => client.webhooks.deliveries(),
      ["job_id", "event_type", "status", "attempts", "last_response_status"],
      20,
    ),
  },
  {
    name: "webhooks redeliver",
    description: "send a finished delivery again",
    args: ["<job-id>"],
    load: one((client, [id = ""]) => client.webhooks.redeliver(id)),
  },
  {
    name: "webhooks public-key",
    description: "show the key that deliveries are signed with",
    load: one((client) => client.webhooks.publicKey()),
  },
  {
    name: "drains list",
    description: "list log drains",
    options: [limit],
    load: list(({ client }: Call) => client.drains.list(), ["id", "name", "format", "enabled", "consecutive_failures"]),
  },
  {
    name: "drains show",
    description: "show a log drain",
    args: ["<drain-id>"],
    load: one((client, [id = ""]) => client.drains.get(id)),
  },
  {
    name: "drains create",
    description: "create a log drain; its secret is SHOWRUNNER_DRAIN_SECRET",
    args: ["<name>", "<url>"],
    options: [["--format <format>", "ndjson (default) or otlp"]],
    load: async () => (await calls()).createDrain,
  },
  {
    name: "drains enable",
    description: "switch a drain on",
    args: ["<drain-id>"],
    load: one((client, [id = ""]) => client.drains.update(id, { enabled: true })),
  },
  {
    name: "drains disable",
    description: "switch a drain off",
    args: ["<drain-id>"],
    load: one((client, [id = ""]) => client.drains.update(id, { enabled: false })),
  },
  {
    name: "drains test",
    description: "send a test batch",
    args: ["<drain-id>"],
    load: one((client, [id = ""]) => client.drains.test(id)),
  },
  {
    name: "drains delete",
    description: "delete a drain",
    args: ["<drain-id>"],
    load: done(
      (client, [id = ""]) => client.drains.delete(id),
      (id) => `deleted drain ${id}`,
    ),
  },
];
