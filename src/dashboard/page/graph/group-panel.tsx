import { useMemo, useState } from "preact/hooks";
import type { StepView } from "../../views/wire.ts";
import type { RunModel } from "../state/run-store.ts";
import { Empty } from "../ui/bits.tsx";
import { count, usd } from "../ui/format.ts";
import { Thumb } from "../ui/media.tsx";
import { Panel } from "../ui/panel.tsx";
import { Dot, phaseTone, phaseWord } from "../ui/status.tsx";
import { VirtualList } from "../ui/virtual.tsx";
import { bundle } from "./groups.ts";

interface Props {
  readonly model: RunModel;
  readonly group: string;
  readonly onOpen: (step: string) => void;
  readonly onClose: () => void;
}

/** The members of a group, however many. */
export function GroupPanel({ model, group, onOpen, onClose }: Props) {
  const [phase, setPhase] = useState<string | null>(null);
  const members = useMemo(
    () => bundle([...model.steps.values()], true).find(({ key }) => key === group)?.members ?? [],
    [model.steps, group],
  );
  const phases = new Map<string, number>();
  for (const step of members) phases.set(step.phase, (phases.get(step.phase) ?? 0) + 1);
  const shown = phase === null ? members : members.filter((step) => step.phase === phase);
  return (
    <Panel title={group} note={count(members.length, "step")} onClose={onClose}>
      <fieldset class="chips">
        <legend class="unseen">Show steps that are</legend>
        <button type="button" class="chip" aria-pressed={phase === null} onClick={() => setPhase(null)}>
          all <span>{members.length}</span>
        </button>
        {[...phases].map(([name, number]) => (
          <button type="button" key={name} class="chip" aria-pressed={phase === name} onClick={() => setPhase(name)}>
            {phaseWord(name as StepView["phase"])} <span>{number}</span>
          </button>
        ))}
      </fieldset>
      {shown.length === 0 ? (
        <Empty title="None of these" />
      ) : (
        <VirtualList items={shown} rowHeight={56} label={`Steps of ${group}`} class="members">
          {(step) => <Member step={step} onOpen={onOpen} />}
        </VirtualList>
      )}
    </Panel>
  );
}

function Member({ step, onOpen }: { readonly step: StepView; readonly onOpen: (step: string) => void }) {
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
