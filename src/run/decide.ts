import type { RunEvent } from "../journal/events.ts";
import {
  type AttemptState,
  isRunFinal,
  isStepFinal,
  lastAttempt,
  outputsOf,
  type RunState,
  type StepState,
} from "../journal/state.ts";
import { formatUsd } from "../money.ts";
import type { JobStep, PlanStep, UploadStep } from "../plan/plan.ts";
import { type Command, commandId } from "./command.ts";
import { ending } from "./ending.ts";
import { idempotencyKey } from "./key.ts";
import { readiness } from "./resolve.ts";
import { Slots } from "./slots.ts";

/** What a decision may look at beside the state: the instant, and what this engine is doing right now. */
export interface DecideContext {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Steps by scheduling priority, the critical path first. */
  readonly order: readonly PlanStep[];
  /** Ids of commands under way. */
  readonly active: ReadonlySet<string>;
  /** Commands that may be tried again only after an instant (epoch ms), or never again in this drive (Infinity). */
  readonly notBefore: ReadonlyMap<string, number>;
  /** An unanswered submit older than this is looked up by a person, not sent again. */
  readonly idempotencyWindowMs: number;
}

export interface Decision {
  readonly events: readonly RunEvent[];
  /** To be started after the events are durable. */
  readonly commands: readonly Command[];
  /** When to decide again although nothing happened; null when only an answer can change anything. */
  readonly wakeAt: number | null;
}

/** Free new attempts after a failure that was refunded and may pass. */
const FREE_RETRIES = 2;
const NEVER_RETRIED = new Set(["INVALID_ARGUMENT", "MODERATION_FAILED", "FAILED_PRECONDITION", "CANCELLED"]);

/** The next moves of a run: pure, so that the same state and instant always give the same answer. */
export function decide(state: RunState, context: DecideContext): Decision {
  if (isRunFinal(state.status)) return { events: [], commands: [], wakeAt: null };
  if (state.status === "planned") return { events: [{ type: "run.started" }], commands: [], wakeAt: null };
  const turn = new Turn(state, context);
  for (const step of context.order) {
    if (step.kind === "upload") turn.upload(step);
    else turn.job(step);
  }
  turn.end();
  return turn;
}

class Turn implements Decision {
  readonly events: RunEvent[] = [];
  readonly commands: Command[] = [];
  wakeAt: number | null = null;
  readonly #state: RunState;
  readonly #context: DecideContext;
  readonly #slots: Slots;
  #committedMicros: number;
  /** Jobs that the service has accepted are seen through to the end even in a pause; nothing new is begun. */
  #mayBegin: boolean;

  constructor(state: RunState, context: DecideContext) {
    this.#state = state;
    this.#context = context;
    this.#slots = new Slots(state, state.planned.limits, context.order);
    this.#committedMicros = state.spentMicros + state.heldMicros;
    this.#mayBegin = state.status === "running";
  }

  upload(plan: UploadStep): void {
    const step = this.#state.steps[plan.path]!;
    if (isStepFinal(step.status) || !this.#mayBegin) return;
    if (step.upload !== null) return this.#finish(step, "succeeded", null);
    if (step.status === "waiting") this.events.push({ type: "step.started", step: plan.path });
    this.#issue({ type: "upload", step: plan.path });
  }

  job(plan: JobStep): void {
    const step = this.#state.steps[plan.path]!;
    this.#downloads(plan, step);
    if (isStepFinal(step.status) || step.status === "unresolved") return;
    const attempt = lastAttempt(step);
    if (attempt === null) {
      if (this.#mayBegin) this.#begin(plan, step, null);
      return;
    }
    switch (attempt.phase) {
      case "planned":
      case "priced":
        if (this.#mayBegin) this.#begin(plan, step, attempt);
        return;
      case "submitting.sent":
      case "submitting.unknown":
        return this.#resend(plan, attempt);
      case "inQueue":
      case "inProgress":
        this.#issue({ type: "follow", step: plan.path, attempt: attempt.n, jobId: attempt.jobId! });
        return;
      case "completed":
        return this.#completed(step, attempt);
      case "failed":
        return this.#failed(plan, step, attempt);
      case "refused":
        return this.#finish(step, "failed", attempt.error?.message ?? "the service refused it");
      case "lost":
        return this.#finish(step, "failed", "declared lost");
      case "unresolved":
        return;
      default:
        attempt.phase satisfies never;
    }
  }

  end(): void {
    if (this.events.length > 0 || this.commands.length > 0 || this.#context.active.size > 0) return;
    const steps = Object.values(this.#state.steps);
    if (steps.every((step) => isStepFinal(step.status))) {
      const last = ending(this.#state);
      if (this.#isOpen("place") && last.toPlace.length > 0) this.#issue({ type: "place" });
      else if (this.wakeAt === null) {
        if (this.#state.status === "paused") this.events.push({ type: "run.resumed" });
        else this.events.push({ type: "run.finished", status: last.status, message: last.message });
      }
      return;
    }
    const stuck = steps.find((step) => step.status === "unresolved");
    if (stuck !== undefined && this.wakeAt === null && this.#state.status === "running") {
      this.#pause(
        "unresolved",
        `${stuck.path}: ${stuck.reason ?? "its submit was never answered"}. Say which job it is: showrunner adopt ${this.#state.runId} ${stuck.path} <job-id|none>`,
      );
    }
  }

  #begin(plan: JobStep, step: StepState, attempt: AttemptState | null): void {
    const ready = readiness(this.#state, plan);
    if (ready.ready === "no") return;
    if (ready.ready === "never")
      return this.#finish(step, step.status === "waiting" ? "skipped" : "failed", ready.reason);
    const n = attempt?.n ?? 1;
    const quote = attempt?.quote ?? null;
    if (quote === null || quote.basis === "provisional") {
      this.#issue({ type: "quote", step: plan.path, attempt: n, model: plan.model, input: ready.input });
      return;
    }
    const holdMicros = quote.costMicros ?? plan.policy.maxCostMicros ?? this.#state.maxUnquotedMicros;
    if (holdMicros === null) {
      return this.#pause(
        "budget",
        `${plan.path} (${plan.model}) cannot be quoted in advance and has no maxCost. Set maxCost on the step, or resume with --max-unquoted USD.`,
      );
    }
    if (plan.policy.maxCostMicros !== null && holdMicros > plan.policy.maxCostMicros) {
      const over = `costs ${formatUsd(holdMicros)} USD, more than its maxCost of ${formatUsd(plan.policy.maxCostMicros)} USD`;
      if (step.status === "waiting") this.events.push({ type: "step.started", step: plan.path });
      return this.#finish(step, "failed", over);
    }
    if (!this.#slots.free(plan)) return;
    if (!this.#affords(plan, holdMicros)) return;
    if (!this.#isOpen(`submit:${plan.path}#${n}`)) return;
    this.#submit(plan, step, n, ready.input, holdMicros);
  }

  #submit(plan: JobStep, step: StepState, attempt: number, input: JobStep["input"], holdMicros: number): void {
    this.#slots.take(plan);
    this.#committedMicros += holdMicros;
    if (step.status === "waiting") this.events.push({ type: "step.started", step: plan.path });
    const { model, path } = plan;
    const key = idempotencyKey({ nonce: this.#state.planned.nonce, step: path, attempt, model, input });
    this.events.push({ type: "job.submit.intended", step: path, attempt, key, model, input, holdMicros });
    this.#issue({ type: "submit", step: path, attempt, key, model, input, mayExist: false });
  }

  #affords(plan: JobStep, holdMicros: number): boolean {
    const budget = this.#state.budgetMicros;
    if (budget === null || this.#committedMicros + holdMicros <= budget) return true;
    this.#pause(
      "budget",
      `${plan.path} needs ${formatUsd(holdMicros)} USD; ${formatUsd(this.#committedMicros)} of the budget of ${formatUsd(budget)} USD are spent or reserved.`,
    );
    return false;
  }

  /** Sent, no answer known: the same body under the same key, until an acknowledgement comes. */
  #resend(plan: JobStep, attempt: AttemptState): void {
    const { n, key, model, input } = attempt;
    const id = `submit:${plan.path}#${n}`;
    if (this.#context.active.has(id)) return;
    if (this.#context.now - attempt.intendedAt! > this.#context.idempotencyWindowMs) {
      const message = "its submit was never answered, and its idempotency key is too old to be sent again";
      this.events.push({ type: "job.unresolved", step: plan.path, attempt: n, message });
      return;
    }
    this.#issue({
      type: "submit",
      step: plan.path,
      attempt: n,
      key: key!,
      model: model!,
      input: input!,
      mayExist: true,
    });
  }

  #completed(step: StepState, attempt: AttemptState): void {
    const failed = attempt.outputs.filter((output) => output.status !== "COMPLETED");
    if (failed.length === 0 && attempt.outputs.length > 0) return this.#finish(step, "succeeded", null);
    const reason = failed[0]?.error?.message ?? "the job yielded no output";
    if (failed.length === attempt.outputs.length) return this.#finish(step, "failed", reason);
    this.#finish(step, "partial", `${failed.length} of ${attempt.outputs.length} outputs failed: ${reason}`);
  }

  #failed(plan: JobStep, step: StepState, attempt: AttemptState): void {
    if (attempt.money === "held") {
      const id = `settle:${plan.path}#${attempt.n}`;
      if (this.#context.notBefore.get(id) !== Number.POSITIVE_INFINITY) {
        this.#issue({ type: "settle", step: plan.path, attempt: attempt.n, jobId: attempt.jobId! });
        return;
      }
    }
    const error = attempt.error;
    const free = attempt.costMicros === 0 && error?.retryable === true && attempt.n <= FREE_RETRIES;
    const declared = attempt.n < plan.policy.attempts;
    const again = (free || declared) && !NEVER_RETRIED.has(error?.code ?? "");
    if (!again || !this.#mayBegin) {
      if (!again) this.#finish(step, "failed", error === null ? "the job failed" : `${error.code}: ${error.message}`);
      return;
    }
    const retryAt = attempt.completedAt! + 1000 * 2 ** attempt.n;
    if (retryAt > this.#context.now) return this.#wake(retryAt);
    const { costMicros, basis } = attempt.quote!;
    this.events.push({ type: "job.quoted", step: plan.path, attempt: attempt.n + 1, costMicros, basis });
  }

  /** Outputs are copied as soon as they exist, and costs learnt, whatever becomes of the run. */
  #downloads(plan: JobStep, step: StepState): void {
    const attempt = lastAttempt(step);
    if (attempt?.phase !== "completed") return;
    const target = { step: plan.path, attempt: attempt.n, jobId: attempt.jobId! };
    if (attempt.money === "held") this.#issue({ type: "settle", ...target });
    if (!plan.policy.keep) return;
    for (const output of outputsOf(step)) {
      if (output.phase === "available" && output.voiceId === null)
        this.#issue({ type: "download", ...target, index: output.index });
    }
  }

  #finish(step: StepState, status: "succeeded" | "partial" | "failed" | "skipped", reason: string | null): void {
    this.events.push({ type: "step.finished", step: step.path, status, reason });
  }

  #pause(reason: "budget" | "unresolved", message: string): void {
    if (!this.#mayBegin) return;
    this.#mayBegin = false;
    this.events.push({ type: "run.paused", reason, message });
  }

  #isOpen(id: string): boolean {
    const notBefore = this.#context.notBefore.get(id) ?? 0;
    if (notBefore <= this.#context.now) return true;
    if (notBefore !== Number.POSITIVE_INFINITY) this.#wake(notBefore);
    return false;
  }

  #issue(command: Command): void {
    const id = commandId(command);
    if (!this.#context.active.has(id) && this.#isOpen(id)) this.commands.push(command);
  }

  #wake(at: number): void {
    this.wakeAt = Math.min(this.wakeAt ?? at, at);
  }
}
