import type { SimAnswer } from "./sim-answer.ts";
import type { RequestKind } from "./troubles.ts";

type Body = Record<string, unknown>;
interface Truth {
  readonly on: readonly RequestKind[];
  /** Changes a response; responses of other kinds stay unchanged. `jobIds`: the job ids in the run's journal. */
  alter(answer: SimAnswer, jobIds: readonly string[]): SimAnswer;
}

/** Changes the JSON of a successful response. */
function json(on: readonly RequestKind[], change: (body: Body, jobIds: readonly string[]) => Body): Truth {
  return {
    on,
    alter: (answer, jobIds) =>
      answer.status >= 300
        ? answer
        : { ...answer, body: JSON.stringify(change(JSON.parse(answer.body) as Body, jobIds)) },
  };
}

const outputsOf = ({ outputs }: Body) => (outputs ?? []) as readonly Body[];
const withOutputs = (change: (outputs: readonly Body[]) => readonly Body[]) =>
  json(["job"], (body) => ({ ...body, outputs: change(outputsOf(body)) }));
const bill = (cost: unknown, currency = "USD") =>
  json(["job"], (body) => ("cost" in body ? { ...body, cost, currency } : body));
const estimate = (cost: number) => json(["estimate"], (body) => ({ ...body, cost: String(cost) }));

/** A media response whose bytes end early without a connection error. */
function cut(bytes: (body: string) => string, hasLength: boolean): Truth {
  return {
    on: ["media"],
    alter(answer) {
      if (answer.status >= 300) return answer;
      const body = bytes(answer.body);
      const { "content-length": _whole, ...headers } = answer.headers;
      return { ...answer, headers: { ...headers, ...(hasLength && { "content-length": String(body.length) }) }, body };
    },
  };
}

/** Successful responses that are incomplete, or contradict the request, an earlier response or the file. */
const truths = {
  "completed without outputs": withOutputs(() => []),
  "one output is missing": withOutputs((outputs) => outputs.slice(1)),
  "an output has no asset and no address": withOutputs((outputs) =>
    outputs.map((output) => ({ ...output, asset_id: null, url: null })),
  ),
  "all outputs are the first": withOutputs((outputs) => outputs.map(() => outputs[0]!)),
  "the job runs another model": json(["job", "submit"], (body) => ({ ...body, model: "foreign-1" })),
  "the job was made long before": json(["job"], (body) => ({ ...body, created_at: "2020-01-01T00:00:00Z" })),
  "the job has another prompt": json(["job"], (body) => ({
    ...body,
    prompt: "the castle that somebody else asked for",
  })),
  "the answer is about another job": json(["job", "status", "submit"], (body, jobIds) => ({
    ...body,
    job_id: jobIds.find((id) => id !== body["job_id"]) ?? "job_of_somebody",
  })),
  "the job's id is no id": json(["submit"], (body) => ({ ...body, job_id: "../x" })),
  "the job is queued again": json(["job", "status"], (body) => ({ ...body, status: "IN_QUEUE" })),
  "the bill is negative": bill(-0.01),
  "the bill is huge": bill(9e15),
  "the bill is twice the charge": json(["job"], (body) =>
    "cost" in body ? { ...body, cost: String(2 * Number(body["cost"])) } : body,
  ),
  "the bill is no number": bill("NaN"),
  "the bill is in another currency": bill("0.1", "XTS"),
  "the estimate is negative": estimate(-0.1),
  "the estimate is a tenth": json(["estimate"], (body) => ({ ...body, cost: String(Number(body["cost"]) / 10) })),
  "half the file, no length": cut((body) => body.slice(0, body.length >> 1), false),
  "half the file, its own length": cut((body) => body.slice(0, body.length >> 1), true),
  "an error page that is called the file": cut(
    () => "<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
    true,
  ),
  "an empty file": cut(() => "", true),
} as const satisfies Readonly<Record<string, Truth>>;

export type HalfTruth = keyof typeof truths;

/** True for a false bill that could be correct. */
export function isOtherBill(name: HalfTruth): boolean {
  return name === "the bill is twice the charge";
}

/** True for a denial that a job belongs to this request. Two denials a minute apart are believed. */
export function isDenial(name: HalfTruth): boolean {
  return (
    name === "the job runs another model" ||
    name === "the job was made long before" ||
    name === "the job has another prompt"
  );
}

/** True if a job's outputs are left out or only a part of a file is delivered. */
export function withholdsOutputs(name: HalfTruth): boolean {
  return (
    name === "completed without outputs" ||
    name === "one output is missing" ||
    name === "an output has no asset and no address" ||
    truths[name].on.some((kind) => kind === "media")
  );
}

export function halfTruthsOf(kind: RequestKind): readonly HalfTruth[] {
  return (Object.keys(truths) as HalfTruth[]).filter((name) => (truths[name] as Truth).on.includes(kind));
}

export function halfTrue(name: HalfTruth, answer: SimAnswer, jobIds: readonly string[]): SimAnswer {
  return truths[name].alter(answer, jobIds);
}
