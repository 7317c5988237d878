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

type Calls = typeof import("./calls.ts");
type CallName = { [N in keyof Calls]: Calls[N] extends Perform ? N : never }[keyof Calls];

/** A call that is more than one request; loaded when it is made, so that help stays light. */
function made(description: string, name: CallName, options: readonly Flag[] = []): CallSpec {
  return { description, perform: async (call) => (await import("./calls.ts"))[name](call), options };
}

const limit: Flag = ["--limit <n>", "list at most this many"];
/** What people ask the service for every day and is more than one request or more than its answer, by group and verb. */
export const callSpecs: Readonly<Record<string, CallSpec>> = {
  "models list": made("list the models", "listModels", [["--modality <kind>", "image, video, audio or text"], limit]),
  "models show <model>": made("show a model with its schemas", "showModel"),
  "models pull": made("write the catalog and the types of its models", "pullModels", [
    ["--out <dir>", "folder of catalog.json and models.ts (default: this one)"],
  ]),
  "models voices <model>": made("list a speech model's voices, or search them by name", "listVoices", [
    ["--search <text>", "a name, part of one, or what the voice is like"],
    ["--gender <gender>", "with --search: male or female"],
    ["--language <code>", "with --search: two letters"],
    limit,
  ]),
  "jobs list": list(
    "list jobs, newest first",
    ["job_id", "model", "status", "cost", "created_at"],
    (client: Client, _id: string, { model }: CallFlags) =>
      typeof model === "string" ? client.modelJobs(model) : client.jobs(),
    { options: [["--model <id>", "only of this model"]], most: 20 },
  ),
  "jobs get <job-id>": one("show a job with its outputs", (client, id) => client.job(id)),
  "jobs follow <job-id>": made("watch a job to its end", "followJob"),
  "files upload <path>": made("upload a file; free", "uploadFile"),
};
