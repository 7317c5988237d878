import { randomInt } from "node:crypto";
import { OURS } from "../../core/families/index.ts";
import { type CompiledModel, voiceProblems } from "../catalog/catalog.ts";
import type { Work } from "../catalog/model.ts";
import { promptOf } from "../faults/engine.ts";
import { problemsOf } from "../http/body.ts";
import type { Answer, Call } from "../http/call.ts";
import { type FieldProblem, invalid, problem, refuse } from "../http/refusal.ts";
import { isRecord } from "../json.ts";
import { acceptedEvents, estimatedCompletion } from "../lifecycle/job.ts";
import { type FoundMedia, mediaResolver } from "../media/resolve.ts";
import { shortfall } from "../money.ts";
import { submitBody } from "../request-bodies.ts";
import type { ServiceContext } from "../service-context.ts";
import { type JobRow, type NewJobRow, jobId as newJobId } from "../store/rows.ts";
import type { Owner } from "../store/tables.ts";
import { moderate } from "../validate/problems.ts";
import { instantOrNull } from "./views.ts";

/** The parsed body of a submit request. `problems` lists the invalid fields other than `input`. */
interface SubmitBody {
  readonly input: unknown;
  readonly webhook: string | null;
  readonly idempotencyKey: string | null;
  readonly problems: readonly FieldProblem[];
}

function readSubmitBody(value: unknown): SubmitBody {
  if (!isRecord(value)) throw invalid([problem("body", "must be a JSON object", "type")]);
  const { input } = value;
  const { problems, data } = problemsOf(submitBody, { ...value, input: null });
  return { input, webhook: data?.webhook ?? null, idempotencyKey: data?.idempotency_key ?? null, problems };
}

function inputShapeProblems(input: unknown): FieldProblem[] {
  if (input === undefined || input === null) return [problem("input", "is required", "required")];
  return isRecord(input) ? [] : [problem("input", "must be an object", "type")];
}

export interface PreparedWork extends Work {
  readonly media: Readonly<Record<string, readonly FoundMedia[]>>;
}

export function workPreparer({ store, catalog, clock, options }: ServiceContext) {
  const resolve = mediaResolver(store, clock);

  const marked = (broken: FieldProblem): FieldProblem =>
    options.strict ? broken : { ...broken, message: `${broken.message} (${OURS})` };

  function check(model: CompiledModel, raw: unknown, owner: Owner, others: readonly FieldProblem[]): PreparedWork {
    const shape = inputShapeProblems(raw);
    if (shape.length > 0) throw invalid([...shape, ...others]);
    const input = raw as Readonly<Record<string, unknown>>;
    const { bySchema, byTable, byFamily } = model.check(input);
    const { media, problems } = resolve(model.entry.input_schema, input, owner);
    const known = new Set(bySchema.map((item) => item.field));
    const voices = model.listsVoices ? [] : voiceProblems(store, catalog, input, owner);
    // The table row that the request means is known only if every field is valid.
    const rows = bySchema.length === 0 ? byTable : [];
    const more = [...rows, ...byFamily.map(marked), ...problems, ...voices].filter((item) => !known.has(item.field));
    const all = [...bySchema, ...more, ...others];
    if (all.length > 0) throw invalid(all);
    return { input, media };
  }

  return (model: CompiledModel, raw: unknown, owner: Owner, others: readonly FieldProblem[] = []): PreparedWork => {
    const work = check(model, raw, owner, others);
    moderate(work.input, options.moderationTriggers);
    return work;
  };
}

const QUEUE_MS = 300;
const MAX_SEED = 4_294_967_295;

interface Ack {
  readonly result_url: string;
}

const accepted = (ack: Ack, replayed: boolean): Answer => ({
  is: "json",
  status: 202,
  body: ack,
  headers: { Location: ack.result_url, ...(replayed ? { "X-Idempotent-Replayed": "true" } : {}) },
});

export const keyInUse = (model: string) =>
  refuse("ALREADY_EXISTS", `This idempotency key was used with the model ${model}; use another key.`, {
    param: "idempotency_key",
    fixedMessage: "This idempotency key was used with another model.",
  });

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Returns the handler that submits jobs. One transaction covers everything from the idempotency key to the charge. */
export function submitHandler(service: ServiceContext) {
  const { store, clock, catalog, hooks, runner, metrics, options } = service;
  const prepare = workPreparer(service);

  function newJob(
    model: CompiledModel,
    work: PreparedWork,
    body: SubmitBody,
    owner: Owner & { keyId: string },
  ): NewJobRow {
    const { input, media } = work;
    const seed = input["seed"];
    const now = clock.now();
    const about = { model: model.entry.id, prompt: promptOf(input) };
    return {
      ...owner,
      jobId: newJobId(),
      model: model.entry.id,
      kind: model.kind(work),
      quality: text(input["quality"]),
      status: "IN_QUEUE",
      prompt: text(input["prompt"]),
      input: JSON.stringify(input),
      media: JSON.stringify(media),
      webhook: body.webhook,
      idempotencyKey: body.idempotencyKey,
      seed: typeof seed === "number" ? seed : randomInt(MAX_SEED),
      queueMs: Math.round(QUEUE_MS / options.speed),
      renderMs: Math.round(model.renderMs(work) / options.speed),
      createdAt: now,
      chargedMicros: Math.round(model.priceMicros(work) * service.faults.chargeFactor(about)),
      costShownAt: now + service.faults.costLateMs(about),
    };
  }

  /**
   * Checks that the wallet can pay for a request whose idempotency key is already known. Used for the fault
   * `funds_before_keys`.
   */
  function assertFunded(owner: Owner, modelId: string, body: SubmitBody): void {
    const model = catalog.use(modelId);
    const price = model.priceMicros(prepare(model, structuredClone(body.input), owner, body.problems));
    const { workspaceId } = owner;
    const wallet = store.workspaces.get(workspaceId);
    const refused = shortfall(wallet, price, model.unquotable === null, service.fundingUrl(workspaceId));
    if (refused) throw refused;
  }

  function pay(job: NewJobRow, isQuoted: boolean): void {
    const wallet = store.workspaces.get(job.workspaceId);
    const refused = shortfall(wallet, job.chargedMicros, isQuoted, service.fundingUrl(job.workspaceId));
    if (refused && wallet) service.refusals.refused(wallet);
    if (refused) throw refused;
    service.refusals.paid(job.workspaceId);
    store.workspaces.charge(job.workspaceId, job.chargedMicros);
  }

  function acknowledge(job: JobRow) {
    const estimate = estimatedCompletion(job, store.modelRuns.averageMs(job.model), clock.now());
    const result_url = `/v3/jobs/${job.jobId}`;
    return {
      job_id: job.jobId,
      model: job.model,
      status: job.status,
      status_url: `${result_url}/status`,
      result_url,
      estimated_completion_at: instantOrNull(estimate),
    };
  }

  function accept(row: NewJobRow, media: PreparedWork["media"]): Ack {
    const seq = store.jobs.insert(row);
    for (const { sourceSeq } of Object.values(media).flat()) if (sourceSeq !== null) store.jobs.addRead(sourceSeq, seq);
    const job = store.jobs.bySeq(seq)!;
    service.record(job, acceptedEvents);
    hooks.emit("accepted", job);
    const ack = acknowledge(job);
    const { workspaceId, idempotencyKey: key, model } = job;
    if (key !== null) store.idempotency.insert({ workspaceId, key, model, jobSeq: seq, ack: JSON.stringify(ack) });
    store.afterCommit(() => runner.enqueue(job));
    return ack;
  }

  return async (call: Call): Promise<Answer> => {
    const body = readSubmitBody(await call.json());
    const modelId = call.param("model");
    const { workspaceId, ownerId, keyId } = call.principal;
    return store.write(() => {
      const known = body.idempotencyKey === null ? undefined : store.idempotency.get(workspaceId, body.idempotencyKey);
      const subject = { model: modelId, prompt: promptOf(body.input) };
      if (known && service.faults.fundsBeforeKeys(subject)) assertFunded(call.principal, modelId, body);
      if (known && !service.faults.forgetsKeys(subject)) {
        metrics.replayed();
        if (known.model !== modelId) throw keyInUse(known.model);
        return accepted(JSON.parse(known.ack) as Ack, true);
      }
      const model = catalog.use(modelId);
      const work = prepare(model, body.input, { workspaceId, ownerId }, body.problems);
      const row = newJob(model, work, body, { workspaceId, ownerId, keyId });
      pay(row, model.unquotable === null);
      return accepted(accept(row, work.media), false);
    });
  };
}
