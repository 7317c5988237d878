import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatDuration } from "../../../duration.ts";
import type { WhyView } from "../../views/action-wire.ts";
import type { AttemptView, RunHead, StepDetail, StepView } from "../../views/run-wire.ts";
import { measured } from "../graph/node.tsx";
import { get, runPath } from "../state/api.ts";
import { inlined } from "../state/inlined.ts";
import { useCanAct } from "../state/live.ts";
import type { RunModel } from "../state/run-store.ts";
import { Fact, Pill, phaseTone, phaseWord } from "../ui/bits.tsx";
import { clockTime, usd } from "../ui/format.ts";
import { useLoaded, useNow } from "../ui/hooks.ts";
import { Lightbox } from "../ui/lightbox.tsx";
import { Player } from "../ui/media.tsx";
import { Data, Panel } from "../ui/panel.tsx";
import { Decide, Resolve } from "./decide.tsx";
import { ResumeDialog } from "./dialogs.tsx";

interface Props {
  readonly runId: string;
  readonly step: StepView;
  readonly model: RunModel;
  readonly onOpen: (step: string) => void;
  readonly onClose: () => void;
}

/** One step: its outputs, its request, its cost and its actions. */
export function StepPanel({ runId, step, model, onOpen, onClose }: Props) {
  const canAct = useCanAct();
  const [isRerunOpen, setRerunOpen] = useState(false);
  const [enlarged, enlarge] = useState<number | null>(null);
  const progress = model.progress.get(step.path);
  const detail = useLoaded(
    (signal) => get<StepDetail>(`${runPath(runId)}/step?path=${encodeURIComponent(step.path)}`, signal),
    [step.path, step.phase, step.attempts.length, step.costMicros],
  );
  const fraction =
    measured.has(step.phase) && progress?.fraction != null ? ` ${Math.round(progress.fraction * 100)} %` : "";
  return (
    <Panel title={step.path} note={step.model ?? step.noun} onClose={onClose}>
      <p class="pills">
        <Pill tone={phaseTone(step.phase)}>{`${phaseWord(step.phase)}${fraction}`}</Pill>
        {step.reusedFrom !== null && <span class="quiet">reused from {step.reusedFrom.runId}</span>}
      </p>
      {step.reason !== null && <p class={step.status === "failed" ? "note bad" : "note"}>{step.reason}</p>}
      {step.decision !== null && (
        <Decide
          runId={runId}
          step={step}
          decision={step.decision}
          isParked={model.head.status === "paused" || model.head.status === "interrupted"}
          onOpen={onOpen}
        />
      )}
      {step.phase === "unresolved" && inlined === null && <Resolve runId={runId} step={step.path} />}
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
      {inlined === null && step.model !== null && step.finishedAt !== null && (
        <Why key={step.path} runId={runId} step={step.path} />
      )}
      {isRerunOpen && (
        <ResumeDialog
          head={model.head}
          rerun={[step.path]}
          isEditable={step.model !== null}
          onClose={() => setRerunOpen(false)}
        />
      )}
      {detail.state === "ready" && <Details step={step} detail={detail.value} model={model} onOpen={onOpen} />}
      {detail.state === "failed" && <p class="note bad">{detail.error.message}</p>}
      {enlarged !== null && (
        <Lightbox
          media={step.media}
          start={enlarged}
          labelOf={({ index }) => `${step.path}, output ${index === "upload" ? 1 : index + 1}`}
          onClose={() => enlarge(null)}
        />
      )}
    </Panel>
  );
}

const replaced = new Set(["succeeded", "partial", "failed"]);

/** Steps with a request to a model or a function, other than uploads and choices. */
function canBeReplaced({ icon, status }: StepView): boolean {
  return replaced.has(status) && icon !== "file";
}

/** Loaded on demand only, since earlier runs are compared for it. */
function Why({ runId, step }: { readonly runId: string; readonly step: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="why" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Why did it run?</summary>
      {isOpen && <Because runId={runId} step={step} />}
    </details>
  );
}

function Because({ runId, step }: { readonly runId: string; readonly step: string }) {
  const query = `${runPath(runId)}/why?step=${encodeURIComponent(step)}`;
  const loaded = useLoaded((signal) => get<WhyView>(query, signal), [query]);
  if (loaded.state === "loading") return <p class="quiet">Comparing with earlier runs…</p>;
  if (loaded.state === "failed") return <p class="note bad">{loaded.error.message}</p>;
  return <p>{loaded.value.why}</p>;
}

function StepFacts({ step, head }: { readonly step: StepView; readonly head: RunHead }) {
  const isOpen = step.startedAt !== null && step.finishedAt === null && step.status === "running";
  const isMoving = isOpen && head.status === "running";
  const clock = useNow(isMoving);
  const now = isMoving ? clock : head.updatedAt;
  return (
    <dl class="facts small">
      <Fact name="Cost">
        <b>{usd(step.costMicros)}</b>
      </Fact>
      <Fact name="Quote">
        <b>{usd(step.quote?.costMicros ?? null)}</b>
      </Fact>
      {step.heldMicros > 0 && (
        <Fact name="Held">
          <b>{usd(step.heldMicros)}</b>
        </Fact>
      )}
      {step.startedAt !== null && (
        <Fact name={isMoving ? "For" : "Took"}>
          <b>{formatDuration((step.finishedAt ?? now) - step.startedAt)}</b>
        </Fact>
      )}
    </dl>
  );
}

interface DetailsProps extends Pick<Props, "step" | "model" | "onOpen"> {
  readonly detail: StepDetail;
}

function Details({ step, model, detail, onOpen }: DetailsProps) {
  const { input, inputIsCut, value, needs, usedBy, events } = detail;
  const copies = step.media.filter(({ sha256, assetId }) => sha256 !== null || assetId !== null);
  return (
    <>
      {value !== null && (
        <Section title="Value">
          <Data value={value} />
        </Section>
      )}
      {input !== null && (
        <Section title="Input">
          <Data value={input} />
          {inputIsCut && <p class="quiet">Long texts are cut here; the journal holds them whole.</p>}
        </Section>
      )}
      <Section title="Links">
        <Neighbours title="Needs" paths={needs} onOpen={onOpen} />
        <Neighbours title="Used by" paths={usedBy} onOpen={onOpen} />
        <Neighbours title="Made from" paths={ancestors(model, needs)} onOpen={onOpen} />
      </Section>
      {copies.length > 0 && (
        <Section title="Provenance">
          {copies.map(({ index, file, assetId, sha256 }) => (
            <Data
              key={index}
              value={{
                ...(file && { File: file }),
                ...(assetId && { Asset: assetId }),
                "SHA-256": sha256 ?? "no copy here",
              }}
            />
          ))}
        </Section>
      )}
      {step.attempts.length > 0 && (
        <Section title="Attempts">
          <ul class="attempts">
            {step.attempts.map((attempt) => (
              <Attempt key={`${attempt.kind} ${attempt.n}`} attempt={attempt} />
            ))}
          </ul>
        </Section>
      )}
      <Section title="What happened">
        <ol class="happened">
          {events.map(({ seq, at, type, text }) => (
            <li key={seq}>
              <time dateTime={new Date(at).toISOString()}>{clockTime(at)}</time> <b>{type}</b> {text}
            </li>
          ))}
        </ol>
      </Section>
    </>
  );
}

/** What went into the steps that are needed, the nearest first. */
function ancestors({ steps }: RunModel, needs: readonly string[]): readonly string[] {
  const found = new Set(needs.flatMap((need) => steps.get(need)?.needs ?? []));
  for (const path of found) for (const further of steps.get(path)?.needs ?? []) found.add(further);
  return [...found].filter((path) => !needs.includes(path));
}

function Section({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="section">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Neighbours({
  title,
  paths,
  onOpen,
}: {
  readonly title: string;
  readonly paths: readonly string[];
  readonly onOpen: (step: string) => void;
}) {
  if (paths.length === 0) return null;
  return (
    <p class="links">
      <span class="quiet">{title}</span>
      {paths.slice(0, 12).map((path) => (
        <button type="button" class="link" key={path} onClick={() => onOpen(path)}>
          {path}
        </button>
      ))}
      {paths.length > 12 && <span class="quiet">and {paths.length - 12} more</span>}
    </p>
  );
}

function Attempt({ attempt }: { readonly attempt: AttemptView }) {
  const { n, phase, jobId, costMicros, holdMicros, money, error, isSuperseded } = attempt;
  const paid = costMicros === null ? (money === "held" ? `${usd(holdMicros)} held` : null) : usd(costMicros);
  return (
    <li class={isSuperseded ? "superseded" : ""}>
      <b>{n}</b>
      <span>
        {phase}
        {isSuperseded && ", rerun since"}
        {jobId !== null && (
          <>
            {" "}
            <code>{jobId}</code>
          </>
        )}
        {error !== null && (
          <em>
            {error.code}: {error.message}
          </em>
        )}
      </span>
      <span class="cost">{paid}</span>
    </li>
  );
}
