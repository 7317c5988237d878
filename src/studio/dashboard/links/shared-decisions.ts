import { type Decision, traitsOf } from "../../../core/plan/index.ts";
import {
  type InboxEntry,
  loadRun,
  type ReviewLinkRow,
  type RunRow,
  type RunState,
  RunView,
} from "../../../core/view/index.ts";
import type { JournalStore } from "../../../index.ts";
import { kindOfType } from "../../served/index.ts";
import { type RunCache, RunMemo } from "../runs/run-cache.ts";
import { cut, cutJson, type PageComment } from "../views/page-step.ts";
import { FILE_MS, fileUrl, refOf } from "./review-link.ts";

// The data that the page behind a review link gets. Times are epoch milliseconds.

type StepState = RunState["steps"][string];

export type SharedTake =
  | {
      readonly kind: "image" | "video" | "audio" | "other";
      readonly url: string | null;
      readonly urlEndsAt: number;
      readonly width: number | null;
      readonly height: number | null;
      readonly durationMs: number | null;
    }
  | { readonly kind: "text"; readonly value: unknown };

export interface SharedDecision {
  readonly ref: string;
  readonly title: string;
  readonly question: string;
  readonly choose: boolean;
  readonly takes: readonly SharedTake[];
  readonly status: "waiting" | "approved" | "rejected";
  readonly pick: number | null;
  /** The reviewer's note. `note` and `name` are null if the decision was not made through this link. */
  readonly note: string | null;
  readonly name: string | null;
  readonly decidedAt: number | null;
  readonly comments: readonly (PageComment & { readonly name: string })[];
}

export interface SharedFile {
  readonly ref: string;
  readonly copy: NonNullable<StepState["upload"]>;
}

export interface Shared {
  readonly runId: string;
  readonly step: string;
  readonly view: SharedDecision;
  readonly shown: readonly Pick<Take, "at">[];
  readonly files: readonly SharedFile[];
}

const MOST_RUNS = 500;
const MOST_KNOWN = 5000;

export function sharedDecisions({ journal, cache }: { readonly journal: JournalStore; readonly cache: RunCache }) {
  const known = new RunMemo<readonly Shared[]>(MOST_KNOWN);

  const ofRun = (row: RunRow, link: ReviewLinkRow, now: number): Promise<readonly Shared[]> => {
    const find = () =>
      cache.upTo(row).then(
        ({ view }) => decisionsOf(view, link, now),
        () => [],
      );
    return known.get(row, find, { of: link.id, more: Math.floor(now / FILE_MS) });
  };

  return {
    /** Returns open decisions, and those made since the link was created, newest run first. */
    async of(link: ReviewLinkRow, now: number): Promise<readonly Shared[]> {
      const found: Shared[] = [];
      for (const row of await runsOf(journal, link.scope)) {
        const shared = await ofRun(row, link, now);
        const isOpen = shared.some(({ view }) => view.status === "waiting");
        // The inbox contains decisions and comments that no process has read yet.
        const inbox = isOpen ? await journal.inbox(row.runId) : [];
        const foreseen = inbox.length === 0 ? null : new RunView(await loadRun(journal, row.runId)).foresee(inbox);
        found.push(...(foreseen === null ? shared : decisionsOf(foreseen, link, now, inbox)));
      }
      return found;
    },

    async file(link: ReviewLinkRow, ref: string, now: number): Promise<SharedFile | null> {
      for (const row of await runsOf(journal, link.scope)) {
        const files = (await ofRun(row, link, now)).flatMap((shared) => shared.files);
        const file = files.find((one) => one.ref === ref);
        if (file !== undefined) return file;
      }
      return null;
    },
  };
}

async function runsOf(journal: JournalStore, { tags, runId }: ReviewLinkRow["scope"]): Promise<readonly RunRow[]> {
  if (runId === undefined) return journal.runs({ limit: MOST_RUNS, ...(tags !== undefined && { tags }) });
  const row = await journal.run(runId);
  const isOurs = row !== null && Object.entries(tags ?? {}).every(([key, value]) => row.tags[key] === value);
  return isOurs ? [row] : [];
}

/** Returns the decisions that a link shows. `run` must already include the effects of `inbox`. */
function decisionsOf(
  run: RunView,
  link: ReviewLinkRow,
  now: number,
  inbox: readonly InboxEntry[] = [],
): readonly Shared[] {
  const { state } = run;
  const open = new Set(run.openDecisions.map(({ step }) => step));
  return state.planned.plan.steps.flatMap((plan): readonly Shared[] => {
    const { decision, subject } = traitsOf(plan);
    const step = state.steps[plan.path]!;
    const { approval, finishedAt } = step;
    if (decision === null || (link.scope.step ?? plan.path) !== plan.path) return [];
    const isRecent = approval !== null && (finishedAt ?? now) >= link.createdAt;
    if (!open.has(plan.path) && !isRecent) return [];
    const shown = decision.shows.flatMap((_, position) => takesOf(run, decision, position, { link, now }));
    const chosen = step.chosen;
    const pick = shown.findIndex(({ at }) => at.step === chosen?.step && at.index === chosen.index);
    const isByLink = approval?.by?.link === link.id;
    const view: SharedDecision = {
      ref: refOf(link, "decision", state.runId, plan.path),
      title: cut(state.planned.title ?? state.runId, 200),
      question: cut(subject ?? plan.path, 2000),
      choose: decision.choose,
      takes: shown.map(({ take }) => take),
      status: approval === null ? "waiting" : approval.approved ? "approved" : "rejected",
      pick: decision.choose && pick >= 0 ? pick : null,
      note: isByLink ? approval.note : null,
      name: isByLink ? approval.by!.name : null,
      decidedAt: approval === null ? null : (finishedAt ?? decidedIn(inbox, plan.path)),
      comments: commentsOf(step.comments ?? [], link, shown),
    };
    return [{ runId: state.runId, step: plan.path, view, shown, files: shown.flatMap(({ file }) => file ?? []) }];
  });
}

function commentsOf(
  all: NonNullable<StepState["comments"]>,
  link: ReviewLinkRow,
  shown: Shared["shown"],
): SharedDecision["comments"] {
  return all
    .filter(({ by }) => by?.link === link.id)
    .map(({ text, take, timeMs, at, by }) => {
      const position = shown.findIndex((one) => one.at.step === take?.step && one.at.index === take.index);
      return { text, name: by!.name, take: position < 0 ? null : position, timeMs, at };
    });
}

interface Viewing {
  readonly link: ReviewLinkRow;
  readonly now: number;
}

interface Take {
  readonly at: { readonly step: string; readonly index: number };
  readonly take: SharedTake;
  readonly file: SharedFile | null;
}

function takesOf(run: RunView, decision: Decision, position: number, { link, now }: Viewing): readonly Take[] {
  const show = decision.shows[position]!;
  const { $ref } = show;
  return run.offered({ ...decision, shows: [show] }).map((at): Take => {
    if ($ref.as === "value") {
      const { value } = cutJson(run.value($ref), 20_000, 2000);
      return { at: { step: at.step, index: position }, take: { kind: "text", value }, file: null };
    }
    const step = run.state.steps[at.step]!;
    const output = $ref.as === "upload" ? undefined : run.outputs(at.step).find(({ index }) => index === at.index);
    const copy = ($ref.as === "upload" ? step.upload : output?.copy) ?? null;
    const { width = null, height = null, durationMs = null } = output ?? {};
    const about = { kind: kindOfType(copy?.contentType ?? output?.contentType ?? null), width, height, durationMs };
    if (copy === null) return { at, take: { ...about, url: null, urlEndsAt: 0 }, file: null };
    const ref = refOf(link, "media", run.state.runId, decision.path, at.step, at.index, copy.sha256);
    return { at, take: { ...about, ...fileUrl(link, ref, now) }, file: { ref, copy } };
  });
}

function decidedIn(inbox: readonly InboxEntry[], path: string): number | null {
  const isVerdict = ({ message: one }: InboxEntry) =>
    (one.type === "approve" || one.type === "reject") && one.step === path;
  return inbox.findLast(isVerdict)?.at ?? null;
}
