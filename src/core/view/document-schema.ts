/**
 * The JSON document that describes a run, for the operator's programs (`show --json`) and for callers of a server.
 * Amounts are decimal strings in US dollars. Times are ISO 8601.
 */
import { z } from "zod";
import type { Json } from "../plan/plan.ts";

const usd = z.string().regex(/^-?\d+\.\d{2,}$/);
const instant = z.string().regex(/^[\d-]{10}T[\d:.]{12}Z$/);
const list = <T extends z.ZodType>(item: T) => z.array(item).readonly();
const json = z.custom<Json>();
const outputAt = z.strictObject({ step: z.string(), index: z.int() });

const runStatus = z
  .enum(["planned", "running", "paused", "interrupted", "succeeded", "partial", "failed", "cancelled"])
  .describe("`interrupted` means that the run's process ended before the run did");
const stepStatuses = [
  "waiting",
  "running",
  "unresolved",
  "succeeded",
  "partial",
  "failed",
  "skipped",
  "cancelled",
] as const;
const phase = z
  .enum([
    ...["waiting", "unresolved", "succeeded", "partial", "failed", "skipped", "cancelled"],
    ...["uploading", "pricing", "asking", "working", "choosing", "planning", "approval"],
    ...["submitting", "queued", "rendering", "downloading"],
  ] as const)
  .describe("What the step is doing now, such as `rendering`, or its final status");

/** The fields of an output that the operator and callers both get. */
const output = z.strictObject({
  index: z.int(),
  file: z
    .string()
    .nullable()
    .describe("Path of the file, relative to the run's folder; null if the pipeline does not return the file"),
  content_type: z.string().nullable(),
  width: z.number().nullable(),
  height: z.number().nullable(),
  duration_ms: z.number().nullable(),
});

/** The fields of a step that both the operator and callers can see. */
const step = z.strictObject({
  path: z.string(),
  kind: z.string(),
  status: z
    .enum([...stepStatuses, "awaiting-approval"])
    .describe("Status in the journal, or `awaiting-approval` while the step is waiting for a person"),
  phase,
  reason: z.string().nullable().describe("Why the step failed, was skipped or is waiting"),
});

/** The fields of a run that the operator and callers both get. */
const run = z.strictObject({
  id: z.string(),
  seq: z.int().describe("Number of the newest event that the document includes"),
  pipeline: z.string(),
  title: z.string().nullable(),
  status: runStatus,
  message: z.string().nullable().describe("Why the run is paused, interrupted or failed"),
  quote: usd.nullable(),
  cost: usd,
  held: usd.describe("Money reserved for jobs that have not been billed yet"),
  created_at: instant,
  finished_at: instant.nullable(),
  outputs: z
    .record(z.string(), z.unknown())
    .describe(
      "What the pipeline has returned so far: files in the same form as in `steps`, and null for results that do not exist yet",
    ),
});

const pause = z.strictObject({
  reason: z.string().describe("Reason code, such as `approval`, `budget` or `funds`"),
});

const attempt = z.strictObject({
  n: z.int(),
  job_id: z.string().nullable(),
  status: z.enum([
    ...["planned", "priced", "submitting.sent", "submitting.unknown", "unresolved", "inQueue", "inProgress"],
    ...["completed", "failed", "refused", "lost", "abandoned"],
  ] as const),
  cost: usd.nullable(),
  unconfirmed: z
    .literal(true)
    .exactOptional()
    .describe("Set if `cost` is only the reserved amount, because the provider reports no charge"),
  error: z.string().nullable(),
  site: z.string().exactOptional().describe("Where a local function threw, as `file:line:column`"),
  flagged: z
    .strictObject({ of: z.string().nullable(), field: z.string().nullable(), category: z.string().nullable() })
    .exactOptional()
    .describe("What moderation objected to; null if moderation did not report it"),
  former_outputs: list(
    z.strictObject({
      index: z.int(),
      asset_id: z.string().nullable(),
      voice_id: z.string().nullable(),
      sha256: z.string().nullable(),
    }),
  )
    .exactOptional()
    .describe("Outputs of this attempt that the step no longer uses because the step was rerun"),
});

const operatorOutput = output.extend({
  status: z.string(),
  asset_id: z.string().nullable(),
  voice_id: z.string().nullable(),
  manifest: z.string().nullable().describe("The manifest that describes how the file was made"),
  sha256: z.string().nullable(),
  fps: z.number().nullable(),
  expires_at: instant.nullable().describe("When the output expires on the service"),
});

const operatorStep = step.extend({
  removed: z.literal(true).exactOptional().describe("Set if the step is no longer in the plan"),
  model: z.string().nullable(),
  promise: z
    .enum(["keyed", "found again", "once"])
    .exactOptional()
    .describe("What prevents a request to a provider from running twice"),
  late: z
    .strictObject({
      since: instant.describe("When the request was accepted"),
      expected_ms: z
        .number()
        .nullable()
        .describe("Expected duration; null if the request counts as late only because of the step's time limit"),
      learned: z.boolean().describe("Whether the expected duration is based on the model's past requests"),
      within_ms: z.number().nullable().describe("The step's time limit (`within`) if it was exceeded"),
      job_id: z.string().nullable(),
    })
    .nullable()
    .describe("Details of a request that is taking longer than expected"),
  started_at: instant.nullable(),
  finished_at: instant.nullable(),
  quote: usd.nullable(),
  edited: list(z.string()).describe("Input fields that an edit or a note changed in this run"),
  attempts: list(attempt).describe("The step's attempts: requests that were sent, and calls to local code that failed"),
  outputs: list(operatorOutput),
  value: json.describe("The value that a chat or task returned, or that a person approved instead"),
  chosen: outputAt.nullable().describe("The output that was chosen during approval or by a pick step"),
  approval: z
    .strictObject({
      approved: z.boolean(),
      note: z.string().nullable(),
      by: z.strictObject({ name: z.string(), verified: z.boolean(), link: z.string().exactOptional() }).exactOptional(),
    })
    .nullable(),
  reused_from: z
    .strictObject({ run: z.string(), step: z.string() })
    .nullable()
    .describe("The earlier run and step whose results were reused"),
});

const runDocument = run.extend({
  tags: z.record(z.string(), z.string()),
  pause: pause
    .extend({
      funding_url: z.string().nullable(),
      required: usd.nullable(),
      balance: usd.nullable(),
      resume_at: instant.nullable().describe("When the run can continue without a person; null if a person is needed"),
    })
    .nullable(),
  budget: usd.nullable(),
  budget_tag: z.string().nullable().describe("The tag (`key=value`) of the runs that share the budget"),
  rerun_quote: usd.nullable().describe("Sum of the quotes for reruns; null if a rerun had no price"),
  projected: usd.describe("The expected total: costs, reserved money, and prices of steps that have not run"),
  unconfirmed: usd.describe("Money that may have been charged, because a response was missing or reported no cost"),
  next: z
    .strictObject({ command: z.string(), note: z.string().nullable() })
    .nullable()
    .describe(
      "The command that continues the run; null if nothing is left to do or a process is already driving the run",
    ),
  over_budget: usd.nullable().describe("The amount by which charges exceed the budget"),
  overcharges: list(
    z.strictObject({
      model: z.string(),
      times: z.int().describe("Number of overcharged jobs and chats"),
      excess: usd,
      worst: z
        .strictObject({ quoted: usd, charged: usd })
        .nullable()
        .describe("The charge that exceeded its quote by the largest factor"),
    }),
  ).describe("Models whose jobs cost more than quoted or, if there was no quote, more than was allowed"),
  out_dir: z.string(),
  took_ms: z.number().describe("Active time, excluding pauses and periods when no process was driving the run"),
  expiring: list(
    outputAt.extend({
      asset_id: z.string().nullable().describe("null if the service provides only a URL"),
      expires_at: instant,
      needed_by: list(z.string()).describe("Unfinished steps that use the output"),
      copied: z.boolean(),
      uncopied: z.string().nullable().describe("Why the last download failed"),
    }),
  ).describe("Outputs that the run still needs but that the service will delete, most urgent first"),
  missing: list(
    z.strictObject({
      step: z.string(),
      output: z.int().nullable().describe("Index of the output; null if the entry concerns the whole step"),
      what: z.enum(["decision", "job", "file", "expired", "result", "bill"]),
      until: instant.nullable().describe("When the output expires on the service"),
      text: z.string(),
    }),
  ).describe("What the run still needs, in plan order; empty while a process is driving the run"),
  refused: list(z.strictObject({ step: z.string(), reason: z.string(), shows: list(outputAt) })).describe(
    "The outputs that the run's checks rejected, with the reasons",
  ),
  steps: list(operatorStep),
});

/** A run as its operator sees it. */
export type RunDocument = z.output<typeof runDocument>;
export type StepDocument = RunDocument["steps"][number];

const callerOutput = output.extend({
  content_type: z.string(),
  url: z.string().describe("Address of the file, valid for at least an hour"),
});

/** An output file of a run, as a caller sees it. */
export type CallerOutput = z.output<typeof callerOutput>;

/** A run as its caller sees it. It may contain only codes, the run's files, and predefined text. */
const callerDocument = run.extend({
  pause: pause.nullable(),
  step_count: z.int(),
  steps: list(step.extend({ outputs: list(callerOutput) })).describe("The first steps of the run, at most 500"),
  waiting: list(
    z.strictObject({
      step: z.string(),
      message: z.string().nullable(),
      outputs: list(callerOutput).describe(
        "The outputs to decide on; a decision's `pick` is the position of one of them in this list",
      ),
      values: list(json),
      choose: z.boolean().describe("Whether the decision is to pick one of the outputs"),
    }),
  ).describe("Steps that are waiting for a decision"),
});

/** A run as its caller sees it, without operator-only information. */
export type CallerDocument = z.output<typeof callerDocument>;

const runLine = callerDocument.pick({
  id: true,
  seq: true,
  pipeline: true,
  title: true,
  status: true,
  created_at: true,
});
/** A run in a list. */
export type RunLine = z.output<typeof runLine>;

const callerEvent = z.strictObject({
  seq: z.int(),
  at: instant,
  type: z.string().describe("Type of the event, as listed in docs/events.md"),
  step: z.string().exactOptional(),
  attempt: z.int().exactOptional(),
  status: z.string().exactOptional().describe("Final status, set only in `run.finished` and `step.finished`"),
  reason: z.string().exactOptional().describe("Why the step has this status, or why the run is paused"),
});

/** An event of a run, without operator-only information. */
export type CallerEvent = z.output<typeof callerEvent>;

const stepProgress = z.strictObject({
  step: z.string(),
  progress: z.number().nullable().describe("Fraction of the step that is complete, from 0 to 1; null if unknown"),
  estimated_completion_at: instant.nullable().describe("When the service expects the step to end; null if unknown"),
});

/** A step's progress, as the service reports it. */
export type StepProgress = z.output<typeof stepProgress>;

const quoteDocument = z.strictObject({
  id: z.string().describe("Pass this id to agree to the price of one run"),
  maximum: usd.describe("Maximum cost of a run started with this quote, excluding the cost of `open_steps`"),
  expires_at: instant,
  open_steps: list(z.string()).describe("Steps that have no price yet; the run pauses and asks before each of them"),
  total: z.strictObject({ min: usd, max: usd.nullable().describe("null if there is no upper limit"), expected: usd }),
  left: usd.nullable().describe("What is left of the caller's budget; null if there is no overall budget"),
  expected_ms: z.number().nullable(),
  step_count: z.int(),
});

/** The price of a run. */
export type QuoteDocument = z.output<typeof quoteDocument>;

export const documentSchemas = {
  runDocument,
  callerDocument,
  callerOutput,
  callerEvent,
  runLine,
  stepProgress,
  quoteDocument,
};
