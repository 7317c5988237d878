import { useState } from "preact/hooks";
import { formatDuration, lateText } from "../../../../core/kit/duration.ts";
import type { PageDecision, PageMedia, PageStep, RunHead, StepDetail } from "../../views/document.ts";
import { measured } from "../graph/node.tsx";
import { get, runPath } from "../state/api.ts";
import { inlined } from "../state/inlined.ts";
import { useCanAct, useCommands } from "../state/live.ts";
import type { RunModel } from "../state/run-store.ts";
import { Fact, Pill, phaseTone, phaseWord } from "../ui/bits.tsx";
import { usd } from "../ui/format.ts";
import { useLoaded, useNow } from "../ui/hooks.ts";
import { useLightbox } from "../ui/lightbox.tsx";
import { Player } from "../ui/media.tsx";
import { Panel } from "../ui/panel.tsx";
import { Refused } from "../ui/refused.tsx";
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
    measured.has(step.phase) && progress?.progress != null ? ` ${Math.round(progress.progress * 100)} %` : "";
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
      {canAct && canBeReplaced(step) && (
        <p>
          <button type="button" class="button small" onClick={() => setRerunOpen(true)}>
            Rerun…
          </button>
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

function canBeReplaced({ icon, status }: PageStep): boolean {
  return replaced.has(status) && icon !== "file";
}

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
