import { z } from "zod";
import { ownVersion } from "../../core/kit/own-version.ts";
import { documentSchemas } from "../../core/view/index.ts";
import { inputSchema } from "../served/index.ts";
import type { Context, Endpoint } from "./options.ts";

type Schema = { readonly [keyword: string]: unknown };

const errorShape = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    field: z.string().nullable(),
    reference: z.string().nullable().describe("Identifies the entry in the server's log"),
    problems: z
      .array(z.object({ field: z.string().nullable(), step: z.string().nullable(), message: z.string() }))
      .optional(),
    quote: documentSchemas.quoteDocument.optional().describe("The quote to agree to before starting the run"),
  }),
});
const decisionShape = z.object({
  step: z.string(),
  approve: z.boolean(),
  pick: z.int().min(0).optional().describe("Position among the items shown, counting from 0"),
  value: z.unknown().optional().describe("Replacement for the value shown"),
  note: z.string().max(2000).optional(),
});

export function openApi({ endpoints, prefix }: Context): Schema {
  const paths = [...endpoints].flatMap(([name, endpoint]) => Object.entries(pathsOf(name, endpoint)));
  return {
    openapi: "3.1.0",
    info: { title: "Pipelines", version: ownVersion() },
    servers: [{ url: prefix === "" ? "/" : prefix }],
    paths: { ...Object.fromEntries(paths), ...runPaths() },
    components: {
      schemas: {
        ...Object.fromEntries(
          [...endpoints].map(([name, { pipeline }]) => [inputName(name), bundled(name, pipeline.input)]),
        ),
        Run: plain(documentSchemas.callerDocument),
        RunLine: plain(documentSchemas.runLine),
        Output: plain(documentSchemas.callerOutput),
        Event: plain(documentSchemas.callerEvent),
        Progress: plain(z.array(documentSchemas.stepProgress)),
        Quote: plain(documentSchemas.quoteDocument),
        Decision: plain(decisionShape),
        Error: plain(errorShape),
      },
    },
  };
}

function pathsOf(name: string, { pipeline }: Endpoint): Schema {
  const body = (more: Schema) => {
    const schema = { type: "object", properties: { input: ref(inputName(name)), ...more } };
    return { required: true, content: { "application/json": { schema }, "multipart/form-data": { schema } } };
  };
  const title = { tags: [pipeline.name] };
  const key = {
    name: "Idempotency-Key",
    in: "header",
    required: true,
    schema: { type: "string", minLength: 1, maxLength: 200 },
  };
  const more = {
    quote: { type: "string", description: "Id of the accepted quote; required for a new run" },
    agree: {
      type: "string",
      description: "New maximum cost of an existing run; also accepts the prices that made the run pause",
    },
    budget: { type: "string" },
    title: { type: "string", maxLength: 120 },
  };
  return {
    [`/${name}/quote`]: {
      post: {
        ...title,
        summary: "Price a run. Spends nothing",
        requestBody: body({}),
        responses: answers("200", "Quote"),
      },
    },
    [`/${name}/runs`]: {
      post: {
        ...title,
        summary: "Start a run, or return the run that was started with this key",
        parameters: [key],
        requestBody: body(more),
        responses: { ...answers("201", "Run"), ...answers("200", "Run") },
      },
    },
  };
}

function runPaths(): Schema {
  const run = { name: "run", in: "path", required: true, schema: { type: "string" } };
  const query = (name: string, schema: Schema) => ({ name, in: "query", schema });
  const list = { type: "object", properties: { runs: { type: "array", items: ref("RunLine") } }, required: ["runs"] };
  const decision = { required: true, content: { "application/json": { schema: ref("Decision") } } };
  const stream = {
    description: "Server-sent events `event` (Event), `run` (Run) and `progress` (Progress)",
    content: { "text/event-stream": { schema: { type: "string" } } },
  };
  const lastSeen = { name: "Last-Event-ID", in: "header", schema: { type: "string" } };
  return {
    "/runs": {
      get: {
        summary: "Your runs, newest first",
        parameters: [
          query("pipeline", { type: "string" }),
          query("limit", { type: "integer", maximum: 200 }),
          query("before", { type: "integer" }),
        ],
        responses: { ...failures, 200: { description: "OK", content: { "application/json": { schema: list } } } },
      },
    },
    "/runs/{run}": { parameters: [run], get: { summary: "A run", responses: answers("200", "Run") } },
    "/runs/{run}/events": {
      parameters: [run],
      get: { summary: "Events as they happen", parameters: [lastSeen], responses: { ...failures, 200: stream } },
    },
    "/runs/{run}/decisions": {
      parameters: [run],
      post: { summary: "Approve or reject a waiting step", requestBody: decision, responses: answers("200", "Run") },
    },
    "/runs/{run}/stop": {
      parameters: [run],
      post: {
        summary: "Stop submitting jobs",
        requestBody: { content: { "application/json": { schema: { type: "object" } } } },
        responses: answers("200", "Run"),
      },
    },
  };
}

const failures = { default: { description: "Refused", content: { "application/json": { schema: ref("Error") } } } };

function answers(status: string, name: string): Schema {
  return { ...failures, [status]: { description: "OK", content: { "application/json": { schema: ref(name) } } } };
}

function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

function inputName(name: string): string {
  return `${name}.input`;
}

function plain(schema: z.ZodType): Schema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "output", unrepresentable: "any" });
  return rest;
}

function bundled(name: string, input: z.ZodType): Schema {
  const { $schema: _, ...rest } = inputSchema(input);
  const text = JSON.stringify(rest).replaceAll('"$ref":"#', `"$ref":"#/components/schemas/${inputName(name)}`);
  return JSON.parse(text, (_key, value: unknown) => {
    const kind = typeof value === "object" && value !== null && "showrunnerFile" in value ? value.showrunnerFile : null;
    if (kind === null) return value;
    const description = `A file (${kind}): its https URL, or a form part named after this field`;
    return { type: "string", format: "uri", description };
  }) as Schema;
}
