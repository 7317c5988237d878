import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatDuration } from "../../../../core/kit/duration.ts";
import type { PageStep, RunHead } from "../../views/document.ts";
import { inlined } from "../state/api.ts";
import { useCanAct, useCommands } from "../state/live.ts";
import { reviewHref } from "../state/router.ts";
import type { RunModel } from "../state/run-store.ts";
import {
  Button,
  Fact,
  Link,
  Meter,
  Note,
  otherCounts,
  Pill,
  Problem,
  runTone,
  StepBar,
  StepLink,
} from "../ui/bits.tsx";
import { count, dateTime, pauses, usd } from "../ui/format.ts";
import { useNow } from "../ui/hooks.ts";
import { ResumeDialog, StopDialog } from "./dialogs.tsx";

type Asking = "stop" | "resume" | null;

interface HeaderProps {
  readonly model: RunModel;
  /** Path of the step whose panel is open. The header omits this step's failure reason, because the panel shows it. */
  readonly open: string | null;
  readonly onOpen: (step: string) => void;
}

export function RunHeader({ model, open, onOpen }: HeaderProps) {
  const { head } = model;
  const canAct = useCanAct();
  const [asking, ask] = useState<Asking>(null);
  const shut = () => ask(null);
  return (
    <header class="run-head">
      <div class="title">
        <p class="crumbs">
          {inlined === null && (
            <>
              <Link href="/">Runs</Link> <span aria-hidden="true">/</span>{" "}
            </>
          )}
          {head.pipeline}
          {head.title !== null && ` / ${head.id}`}
        </p>
        <h1>{head.title ?? head.id}</h1>
        <Pill tone={runTone(head.status)}>{head.pause === null ? head.status : pauses[head.pause.reason].word}</Pill>
        <div class="head-actions">
          {canAct && head.status === "running" && <Button label="Stop…" onClick={() => ask("stop")} />}
          {canAct && canResume(head) && (
            <Button label="Resume…" look={isResumedNext(head) ? "primary" : ""} onClick={() => ask("resume")} />
          )}
        </div>
      </div>
      <Banner model={model} open={open} onOpen={onOpen} />
      <Facts model={model} />
      {asking === "stop" && <StopDialog model={model} onClose={shut} />}
      {asking === "resume" && <ResumeDialog head={head} onClose={shut} />}
    </header>
  );
}

function canResume({ status, drivenHere }: RunHead): boolean {
  return !drivenHere && (status === "paused" || status === "interrupted");
}

function isResumedNext({ status, pause }: RunHead): boolean {
  return status === "interrupted" || (pause !== null && pause.reason !== "approval");
}

function Facts({ model }: { readonly model: RunModel }) {
  const { head } = model;
  const isMoving = head.status === "running";
  const now = useNow(isMoving);
  const began = head.startedAt ?? head.createdAt;
  const ends = [...model.progress.values()].flatMap((step) => step.estimated_completion_at ?? []);
  const due = Math.max(0, ...ends.map(Date.parse));
  const most = head.budgetMicros ?? head.quoteMicros ?? head.spentMicros + head.heldMicros;
  const money = [
    head.heldMicros > 0 && `${usd(head.heldMicros)} held`,
    head.budgetMicros === null
      ? "no budget"
      : `${head.budgetTag === null ? "" : "shared "}budget ${usd(head.budgetMicros)}`,
    quoteHint(head),
  ];
  return (
    <dl class="facts">
      <Fact name="Spent" hint={money.filter(Boolean).join(" · ")}>
        <b>{usd(head.spentMicros)}</b>
        <Meter
          label={`${usd(head.spentMicros)} spent, ${usd(head.heldMicros)} reserved; budget ${usd(most)}`}
          value={head.spentMicros}
          soft={head.heldMicros}
          most={most}
        />
      </Fact>
      <Fact name="Steps" hint={otherCounts(head.counts).join(" · ")}>
        <b>
          {head.counts.done} <span>of {head.counts.total}</span>
        </b>
        <StepBar counts={head.counts} />
      </Fact>
      <Fact name={isMoving ? "Running for" : head.finishedAt === null ? "Ran for" : "Took"} hint={dateTime(began)}>
        <b>
          {formatDuration(
            head.tookMs + (head.workingSince === null ? 0 : (isMoving ? now : head.updatedAt) - head.workingSince),
          )}
        </b>
      </Fact>
      {isMoving && due > now && (
        <Fact name="Next result" hint="the service's estimate">
          <b>in {formatDuration(due - now)}</b>
        </Fact>
      )}
    </dl>
  );
}

function quoteHint({ status, spentMicros, quoteMicros, rerunQuoteMicros }: RunHead): string | null {
  if (quoteMicros === null) return null;
  const again = rerunQuoteMicros === 0 ? "" : ` and ${usd(rerunQuoteMicros)} for reruns`;
  const quoted = `quoted ${usd(quoteMicros)}${again}`;
  if (status !== "succeeded" || spentMicros === 0 || rerunQuoteMicros === null) return quoted;
  const more = spentMicros - quoteMicros - rerunQuoteMicros;
  return more === 0 ? "exactly as quoted" : `${usd(Math.abs(more))} ${more < 0 ? "below" : "above"} the ${quoted}`;
}

function Banner({ model, open, onOpen }: HeaderProps) {
  const { head } = model;
  const steps = [...model.steps.values()];
  const decisions = steps.filter(({ phase }) => phase === "approval");
  const unresolved = steps.filter(({ phase }) => phase === "unresolved");
  const failed = steps.filter(({ status }) => status === "failed");
  // The failure is shown only once, beside the link to the step.
  const isListed = failed.slice(0, MOST_LINKS).some(({ path, reason }) => head.message === `${path}: ${reason}`);
  // Decisions and failures get links to their steps instead.
  const lacking = head.missing.filter(({ what }) => what === "file" || what === "expired" || what === "bill");
  const [isRerunOpen, setRerunOpen] = useState(false);
  const canAct = useCanAct();
  const commands = useCommands();
  return (
    <div class="notes">
      {head.pause !== null && !(head.pause.reason === "approval" && decisions.length > 0) && (
        <Note title={pauses[head.pause.reason].title}>
          <div>{commands(head.pause.message)}</div>
          {canAct && head.pause.fundingUrl !== null && (
            <a class="button" href={head.pause.fundingUrl} target="_blank" rel="noreferrer">
              Add funds
            </a>
          )}
        </Note>
      )}
      {head.driveError !== null && (
        <Problem title="This dashboard stopped driving the run">{commands(head.driveError)}</Problem>
      )}
      {head.status === "interrupted" && (
        <Note title="Interrupted" isAlert>
          <div>{commands(head.message ?? "")}</div>
        </Note>
      )}
      {head.message !== null && head.status !== "interrupted" && !isListed && (
        <div class={head.status === "failed" ? "note bad" : "note"}>
          <div>{commands(head.message)}</div>
        </div>
      )}
      {lacking.length > 0 && (
        <Note title={`${count(lacking.length, "item")} missing`}>
          {lacking.map(({ text }) => (
            <div key={text}>{text}</div>
          ))}
        </Note>
      )}
      {head.next !== null && (
        <p class="go-on">
          On the command line: <code>{commands(head.next.command)}</code>
          {head.next.note !== null && <span class="quiet"> ({commands(head.next.note)})</span>}
        </p>
      )}
      <StepLinks title={`${count(decisions.length, "decision")} to make`} tone="ask" steps={decisions} onOpen={onOpen}>
        {canAct && (
          <Link class="button" href={reviewHref({ run: head.id })}>
            Review
          </Link>
        )}
      </StepLinks>
      <StepLinks title="Requests with an unknown outcome" tone="ask" steps={unresolved} onOpen={onOpen} />
      <StepLinks
        title={`${count(head.counts.failed, "step")} failed`}
        tone="bad"
        steps={failed}
        open={open}
        onOpen={onOpen}
      >
        {canAct && !head.drivenHere && hasEnded.has(head.status) && failed.length === head.counts.failed && (
          <Button label="Rerun failed steps…" onClick={() => setRerunOpen(true)} />
        )}
      </StepLinks>
      {isRerunOpen && (
        <ResumeDialog head={head} rerun={failed.map(({ path }) => path)} onClose={() => setRerunOpen(false)} />
      )}
    </div>
  );
}

const hasEnded = new Set<RunHead["status"]>(["failed", "partial"]);

interface LinksProps {
  readonly title: string;
  readonly tone: "ask" | "bad";
  readonly steps: readonly PageStep[];
  readonly open?: string | null;
  readonly onOpen: (step: string) => void;
  readonly children?: ComponentChildren;
}

const MOST_LINKS = 6;

function StepLinks({ title, tone, steps, open, onOpen, children }: LinksProps) {
  if (steps.length === 0) return null;
  return (
    <Note title={title} tone={tone}>
      <div class="links">
        {steps.slice(0, MOST_LINKS).map(({ path, reason }) => (
          <span key={path}>
            <StepLink step={path} onOpen={onOpen} />
            {tone === "bad" && reason !== null && path !== open && `: ${reason}`}
          </span>
        ))}
        {steps.length > MOST_LINKS && <span>and {steps.length - MOST_LINKS} more</span>}
      </div>
      {children}
    </Note>
  );
}
