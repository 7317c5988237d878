import { stat } from "node:fs/promises";
import type { Client } from "../../api/index.ts";
import { type Delivery, type DeliveryOutcome, isDeliverable } from "../../journal/deliveries.ts";
import { RunUnknownError } from "../../journal/errors.ts";
import type { Chosen, DecidedBy, GivenFile, StoredEvent } from "../../journal/events.ts";
import { isDriven, isInterrupted, statusNow } from "../../journal/host.ts";
import { accountOf } from "../../journal/record.ts";
import { EVENTS_READ_AT_ONCE, jobsOf, type RunRepository } from "../../journal/run-repository.ts";
import type { RunsQuery } from "../../journal/search.ts";
import { isRunFinal, planStep, type RunState } from "../../journal/state.ts";
import type { InboxEntry, InboxMessage, JournalStore, RunRow } from "../../journal/store.ts";
import { cleanText, ownText } from "../../kit/clean-text.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { type Decision, type PlanStep, traitsOf } from "../../plan/plan.ts";
import { openDecisions, type WaitingDecision, whyUndecidable } from "../../run/decisions.ts";
import { foresee, refusalOf } from "../../run/inbox.ts";
import { offered, positionOf } from "../../run/kinds/approve.ts";
import type { RunDocument } from "../../view/document-schema.ts";
import { runDocument } from "../../view/run-document.ts";
import { RunView } from "../../view/run-view.ts";
import { compareWithService, type ReconcileOptions, type ReconcileReport } from "../adoption/reconcile.ts";
import {
  type AdoptionCandidate,
  checkAdoption,
  type UnresolvedStep,
  unresolvedAttempt,
  unresolvedSteps,
} from "../adoption/unresolved.ts";
import { isAskedToGoOn } from "../change/compare.ts";
import { changedValue } from "../change/edits.ts";
import { measureMedia } from "../media/media-reader.ts";
import type { MediaStore } from "../media/media-store.ts";
import {
  type ApproveDecision,
  checkDuration,
  checkText,
  type Decider,
  type NewComment,
  type RejectDecision,
  textOption,
  type WaitingQuery,
} from "../options/options.ts";

interface StoredRunsParts {
  readonly client: Client;
  readonly store: JournalStore;
  readonly repository: RunRepository;
  readonly media: MediaStore;
  readonly now: () => number;
}

export abstract class StoredRuns {
  readonly client: Client;
  protected readonly store: JournalStore;
  protected readonly repository: RunRepository;
  protected readonly now: () => number;
  readonly #media: MediaStore;
  protected readonly account: string;

  constructor({ client, store, repository, media, now }: StoredRunsParts) {
    this.#media = media;
    this.client = client;
    this.store = store;
    this.repository = repository;
    this.now = now;
    const { origin, keyId } = repository.account;
    this.account = accountOf({ baseUrl: origin, keyId });
  }

  async runs(query: RunsQuery = {}): Promise<readonly RunRow[]> {
    const now = this.now();
    return (await this.store.runs(query)).map((row) => statusNow(row, now));
  }

  async dueRuns({ lateMs = 0, limit = 100 }: { readonly lateMs?: number; readonly limit?: number } = {}) {
    return this.store.dueRuns({ account: this.account, at: this.now() - lateMs, limit });
  }

  async due(): Promise<readonly RunRow[]> {
    const account = this.account;
    const due: RunRow[] = [];
    for (const row of await this.store.runs()) {
      if (row.account !== account || isRunFinal(row.status)) continue;
      if (isDriven(row, this.now())) continue;
      const isPeriodOver = row.resumeAt !== null && row.resumeAt <= this.now();
      if (row.status !== "paused" || isPeriodOver || (await this.#isAsked(row.runId))) due.push(row);
    }
    return due;
  }

  async #isAsked(runId: string): Promise<boolean> {
    return isAskedToGoOn(await this.store.inbox(runId));
  }

  async show(runId: string): Promise<RunDocument> {
    const row = await this.store.run(runId);
    const { state, seq } = await this.foreseen(runId);
    // A newer event shows that a process is executing the run.
    const isStill = row !== null && row.lastSeq === seq;
    return runDocument(new RunView(state), { isInterrupted: isStill && isInterrupted(row, this.now()), seq });
  }

  async *events(
    runId: string,
    options: { readonly follow?: boolean; readonly afterSeq?: number; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<StoredEvent, void, undefined> {
    await this.#checkRun(runId);
    let afterSeq = options.afterSeq ?? 0;
    let hasEnded = false;
    for (;;) {
      const events = await this.store.read(runId, { afterSeq, limit: EVENTS_READ_AT_ONCE });
      for (const event of events) {
        yield event;
        afterSeq = event.seq;
        if (event.event.type === "run.finished") hasEnded = true;
        if (event.event.type === "run.reopened") hasEnded = false;
      }
      if (events.length === EVENTS_READ_AT_ONCE) continue;
      if (hasEnded) return;
      if (options.follow !== true || options.signal?.aborted === true) return;
      await this.store.waitForChange(runId, afterSeq, options.signal).catch(() => {});
    }
  }

  async hint(delivery: Pick<Delivery, "id" | "jobId">): Promise<DeliveryOutcome> {
    if (!isDeliverable(delivery)) return { outcome: "repeated", runIds: [] };
    const { id, jobId } = delivery;
    return this.store.deliver({ account: this.account, id, jobId, at: this.now() });
  }

  async stop(runId: string, how: { readonly reason?: string } = {}): Promise<void> {
    const reason = textOption("reason", how.reason);
    await this.#checkRun(runId);
    await this.#send(runId, { type: "stop", ...(reason !== undefined && { reason: cleanText(reason) }) });
  }

  async unresolved(runId: string): Promise<readonly UnresolvedStep[]> {
    return unresolvedSteps(this.#adoption(), await this.loadOurs(runId));
  }

  async candidates(runId: string, step: string): Promise<readonly AdoptionCandidate[]> {
    unresolvedAttempt(await this.loadOurs(runId), step);
    return (await this.unresolved(runId)).find((entry) => entry.step === step)?.candidates ?? [];
  }

  async adopt(runId: string, step: string, jobId: string | null): Promise<void> {
    // Ignore an earlier decision about the step that has not been processed yet, because the new one replaces it.
    const { state } = await this.foreseen(runId, ({ message }) => message.type !== "adopt" || message.step !== step);
    this.repository.checkAccount(state);
    const { provider } = unresolvedAttempt(state, step);
    const isFile = provider !== undefined && jobId !== null;
    const file = isFile ? await givenFile(jobId, planStep(state, step), this.#media) : undefined;
    if (file === undefined) await checkAdoption(this.#adoption(), state, { step, jobId });
    const message = { type: "adopt", step, jobId: isFile ? null : jobId, ...(file !== undefined && { file }) } as const;
    await this.#say(state, message);
  }

  async waiting({ pipeline, ...query }: WaitingQuery = {}): Promise<readonly WaitingDecision[]> {
    const found: WaitingDecision[] = [];
    for (const row of await this.runs(query)) {
      const isOver = isRunFinal(row.status);
      if (isOver || (pipeline !== undefined && row.pipeline !== pipeline)) continue;
      const { state } = await this.foreseen(row.runId);
      const { runId, title, tags } = row;
      found.push(
        ...openDecisions(state).map((decision) => ({ runId, title, pipeline: row.pipeline, tags, ...decision })),
      );
    }
    return found.sort((a, b) => a.since - b.since);
  }

  async approve(runId: string, step: string, { pick, value, ...said }: ApproveDecision = {}): Promise<void> {
    const { note, by } = checkDecision(said);
    const { state } = await this.foreseen(runId);
    const plan = decidable(state, step);
    const list = `showrunner approve ${runId}   (lists the waiting steps and their results to review)`;
    if (!plan.choose && pick !== undefined)
      throw new InvalidOptionError("pick", `${step} does not offer a choice; omit pick.`, list);
    const offer = offered(state, plan);
    const found = plan.choose ? positionOf(offer, step, pick) : null;
    if (typeof found === "string") throw new InvalidOptionError("pick", found, list);
    const picked: { pick?: number; chosen?: Chosen } = found === null ? {} : { pick: found, chosen: offer[found]! };
    const changed = value === undefined ? {} : { value: changedValue(state, plan, picked.chosen, value) };
    await this.#say(state, { type: "approve", step, ...picked, ...(note && { note }), ...changed, ...by });
  }

  async reject(runId: string, step: string, said: RejectDecision = {}): Promise<void> {
    const { note, by } = checkDecision(said);
    const { state } = await this.foreseen(runId);
    await this.#say(state, { type: "reject", step, ...(note && { note }), ...by });
  }

  async comment(runId: string, step: string, { text, take = null, timeMs = null, by }: NewComment): Promise<void> {
    const plain = checkText("text", text).trim();
    if (plain === "") throw new InvalidOptionError("text", "is empty; write a comment.");
    checkTake(take);
    checkDuration("timeMs", timeMs ?? undefined);
    if (timeMs === Number.POSITIVE_INFINITY) throw new InvalidOptionError("timeMs", "must be finite.");
    const { by: author = null } = deciderOf(by);
    const { state } = await this.foreseen(runId);
    const comment = { text: cleanText(plain), take, timeMs, at: this.now(), by: author };
    await this.#say(state, { type: "comment", step, comment });
  }

  async reconcile(runId?: string, { onProgress }: ReconcileOptions = {}): Promise<ReconcileReport> {
    const states = runId === undefined ? await this.repository.all() : [await this.loadOurs(runId)];
    const known = runId === undefined ? jobsOf(states) : await this.repository.knownJobs();
    const ours = states.filter((state) => this.repository.isOurs(state));
    return compareWithService({ client: this.client, store: this.store, now: this.now, known, onProgress }, ours);
  }

  #adoption() {
    return { client: this.client, store: this.store, repository: this.repository };
  }

  protected async loadOurs(runId: string): Promise<RunState> {
    const state = await this.repository.load(runId);
    this.repository.checkAccount(state);
    return state;
  }

  async #checkRun(runId: string): Promise<void> {
    if ((await this.store.run(runId)) === null) throw new RunUnknownError(runId);
  }

  protected async foreseen(
    runId: string,
    counts: (entry: InboxEntry) => boolean = () => true,
  ): Promise<{ readonly state: RunState; readonly seq: number }> {
    for (;;) {
      const before = await this.store.inbox(runId);
      const state = await this.repository.load(runId);
      const after = await this.store.inbox(runId);
      const isSame = before.every(({ id }) => after.some((entry) => entry.id === id));
      if (isSame) return { seq: state.seq, state: foresee(state, after.filter(counts)) };
    }
  }

  protected async foreseenOurs(runId: string): Promise<RunState> {
    const { state } = await this.foreseen(runId);
    this.repository.checkAccount(state);
    return state;
  }

  #say(state: RunState, message: InboxMessage): Promise<unknown> {
    const refusal = refusalOf(state, message);
    if (refusal !== null) throw new InvalidOptionError("step", `${refusal.why}.`, refusal.next);
    return this.#send(state.runId, message);
  }

  #send(runId: string, message: InboxMessage): Promise<unknown> {
    return this.store.send(runId, message, this.now());
  }
}

function decidable(state: RunState, path: string): Decision {
  const refusal = whyUndecidable(state, path);
  if (refusal !== null) throw new InvalidOptionError("step", `${refusal.why}.`, refusal.next);
  return traitsOf(planStep(state, path)).decision!;
}

function checkDecision({ note, by }: RejectDecision) {
  return { note: textOption("note", note), by: deciderOf(by) };
}

function checkTake(take: unknown): void {
  if (take === null) return;
  const { step, index } = Object(take) as Partial<Record<string, unknown>>;
  if (typeof step === "string" && Number.isSafeInteger(index) && (index as number) >= 0) return;
  throw new InvalidOptionError("take", 'is not an output; write it like { step: "look", index: 0 }.');
}

function deciderOf(by: Decider | undefined): { readonly by?: DecidedBy } {
  if (by === undefined) return {};
  const { name, verified = false, link } = Object(by) as Decider;
  if (typeof verified !== "boolean") throw new InvalidOptionError("by.verified", "must be true or false.");
  const id = textOption("by.link", link);
  return {
    by: { name: cleanText(checkText("by.name", name), MOST_NAME), verified, ...(id !== undefined && { link: id }) },
  };
}

const MOST_NAME = 100;

async function givenFile(path: string, { path: step, yields }: PlanStep, media: MediaStore): Promise<GivenFile> {
  if (yields === null || yields === "value" || yields === "voice") {
    throw new InvalidOptionError(
      "file",
      `cannot be the result of ${step}, which makes no file; pass null, or "none" on the command line.`,
    );
  }
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) {
    throw new InvalidOptionError("file", `${path} is not a file; pass the file that the provider produced, or "none".`);
  }
  const facts = await measureMedia(path, yields);
  if ("fault" in facts)
    throw new InvalidOptionError("file", `${path} should be ${yields}, but ${cleanText(facts.fault)}.`);
  const { sha256, sizeBytes } = await media.put({ path });
  const contentType = ownText(facts.contentType);
  const output = { index: 0, status: "COMPLETED", assetId: null, voiceId: null, error: null } as const;
  return { facts: { ...output, ...facts, contentType }, copy: { sha256, sizeBytes, contentType } };
}
