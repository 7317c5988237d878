import { useMemo, useState } from "preact/hooks";
import { formatDuration, lateText } from "../../../../core/kit/duration.ts";
import type { PageDecision, PageMedia, PageStep, RunHead, StepDetail } from "../../views/document.ts";
import { bundlesOf } from "../../views/groups.ts";
import { measured } from "../graph/node.tsx";
import { get, inlined, runPath } from "../state/api.ts";
import { useCanAct, useCommands } from "../state/live.ts";
import type { RunModel } from "../state/run-store.ts";
import { Button, Chips, Dot, Empty, Fact, Pill, phaseTone, phaseWord } from "../ui/bits.tsx";
import { count, usd } from "../ui/format.ts";
import { useLoaded, useNow, useSteps } from "../ui/hooks.ts";
import { Player, Refused, Thumb, useLightbox } from "../ui/media.tsx";
import { Panel } from "../ui/panel.tsx";
import { VirtualList } from "../ui/virtual.tsx";
import { Decide, Resolve } from "./decide.tsx";
import { ResumeDialog } from "./dialogs.tsx";
import { StepDetails } from "./step-details.tsx";

interface Props {
  readonly runId: string;
  readonly step: PageStep;
  readonly model: RunModel;
  readonly onOpen: (step: string) => void;
  readonly onClose: () => void;
}

export function StepPanel({ runId, step, model, onOpen, onClose }: Props) {
  const canAct = useCanAct();
  const commands = useCommands();
  const [isRerunOpen, setRerunOpen] = useState(false);
  const labelOf = ({ index }: PageMedia) => `${step.path}, output ${index === "upload" ? 1 : index + 1}`;
  const [enlarge, lightbox] = useLightbox(step.media, labelOf);
  const progress = model.progress.get(step.path);
  const now = useNow(step.late !== null);
  const site = step.attempts.at(-1)?.error?.site ?? null;
  const detail = useLoaded(
    (signal) => get<StepDetail>(`${runPath(runId)}/step?path=${encodeURIComponent(step.path)}`, signal),
    [step.path, step.phase, step.attempts.length, step.costMicros],
  );
  const fraction =
    measured.has(step.phase) && progress?.progress != null ? ` ${Math.round(progress.progress * 100)}%` : "";
  return (
    <Panel title={step.path} note={step.model ?? step.noun} onClose={onClose}>
      <p class="pills">
        <Pill tone={phaseTone(step.phase)}>{`${phaseWord(step.phase)}${fraction}`}</Pill>
        {step.reusedFrom !== null && <span class="quiet">reused from {step.reusedFrom.runId}</span>}
      </p>
      <Refused refused={step.refused} onOpen={onOpen} />
      {step.reason !== null && step.refused[0]?.step !== step.path && (
        <p class={step.status === "failed" ? "note bad" : "note"}>
          {commands(step.reason)}
          {step.status === "failed" && site !== null && (
            <>
              {" "}
              <code>{site}</code>
            </>
          )}
        </p>
      )}
      {step.late !== null && <p class="note ask">{lateText(step.late, now)}</p>}
      {step.decision !== null && hasAnything(step.decision, step.phase) && (
        <Decide
          runId={runId}
          step={step}
          decision={step.decision}
          isParked={model.head.status === "paused" || model.head.status === "interrupted"}
          onOpen={onOpen}
        />
      )}
      {step.phase === "unresolved" && inlined === null && <Resolve runId={runId} step={step} />}
      {step.media.map((media, index) => (
        <Player
          key={media.index}
          media={media}
          label={`${step.path}, output ${index + 1}`}
          onEnlarge={() => enlarge(index)}
        />
      ))}
      {step.voiceId !== null && (
        <p>
          Voice <code>{step.voiceId}</code>
        </p>
      )}
      <StepFacts step={step} head={model.head} />
      {canAct && replaced.has(step.status) && step.icon !== "file" && (
        <p>
          <Button label="Rerun…" look="small" onClick={() => setRerunOpen(true)} />
        </p>
      )}
      {isRerunOpen && (
        <ResumeDialog
          head={model.head}
          rerun={[step.path]}
          isEditable={step.model !== null}
          onClose={() => setRerunOpen(false)}
        />
      )}
      {detail.state === "ready" && <StepDetails step={step} detail={detail.value} model={model} onOpen={onOpen} />}
      {detail.state === "failed" && <p class="note bad">{detail.error.message}</p>}
      {lightbox}
    </Panel>
  );
}

function hasAnything({ shows, values }: PageDecision, phase: PageStep["phase"]): boolean {
  return phase === "approval" || shows.length + values.length > 0;
}

const replaced = new Set(["succeeded", "partial", "failed"]);

function StepFacts({ step, head }: { readonly step: PageStep; readonly head: RunHead }) {
  const isOpen = step.startedAt !== null && step.finishedAt === null && step.status === "running";
  const isMoving = isOpen && head.status === "running";
  const clock = useNow(isMoving);
  const now = isMoving ? clock : head.updatedAt;
  return (
    <dl class="facts small">
      <Fact name="Cost" value={usd(step.costMicros)} />
      <Fact name="Quote" value={usd(step.quote?.costMicros ?? null)} />
      {step.heldMicros > 0 && <Fact name="Held" value={usd(step.heldMicros)} />}
      {step.startedAt !== null && (
        <Fact name={isMoving ? "For" : "Took"} value={formatDuration((step.finishedAt ?? now) - step.startedAt)} />
      )}
    </dl>
  );
}

interface GroupProps {
  readonly model: RunModel;
  readonly group: string;
  readonly onOpen: (step: string) => void;
  readonly onClose: () => void;
}

export function GroupPanel({ model, group, onOpen, onClose }: GroupProps) {
  const [phase, setPhase] = useState<PageStep["phase"] | null>(null);
  const { steps, groups } = model;
  const bundle = useMemo(
    () => bundlesOf({ steps, groups }, true).find(({ key }) => key === group),
    [steps, groups, group],
  );
  const members = new Set(bundle?.members);
  const { steps: shown, more } = useSteps(
    model,
    { group, ...(phase !== null && { phase }) },
    (step) => members.has(step) && (phase === null || step.phase === phase),
  );
  const total = bundle?.count ?? 0;
  const phases = Object.entries(bundle?.phases ?? {}) as [PageStep["phase"], number][];
  return (
    <Panel title={group} note={count(total, "step")} onClose={onClose}>
      <Chips
        legend="Show steps that are"
        chips={[
          { value: null, text: "all", number: total },
          ...phases.map(([value, number]) => ({ value, text: phaseWord(value), number })),
        ]}
        chosen={phase}
        onChoose={setPhase}
      />
      {shown.length === 0 ? (
        <Empty title="No matching steps" />
      ) : (
        <VirtualList items={shown} rowHeight={56} label={`Steps in ${group}`} class="members" onEnd={more}>
          {(step) => <Member step={step} onOpen={onOpen} />}
        </VirtualList>
      )}
    </Panel>
  );
}

function Member({ step, onOpen }: { readonly step: PageStep; readonly onOpen: (step: string) => void }) {
  const media = step.media.find(({ kind }) => kind === "image" || kind === "video");
  return (
    <button type="button" class="member" onClick={() => onOpen(step.path)}>
      {media === undefined ? <span class="thumb blank" /> : <Thumb media={media} label="" />}
      <span class="name">
        <b>{step.path}</b>
        <small>{step.ask ?? step.model}</small>
      </span>
      <span class="line">
        <Dot tone={phaseTone(step.phase)} />
        {phaseWord(step.phase)}
      </span>
      <span class="cost">{usd(step.costMicros)}</span>
    </button>
  );
}
