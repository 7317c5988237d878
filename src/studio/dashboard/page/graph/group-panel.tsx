import { useMemo, useState } from "preact/hooks";
import type { PageStep } from "../../views/document.ts";
import { bundlesOf } from "../../views/groups.ts";
import type { RunModel } from "../state/run-store.ts";
import { Dot, Empty, phaseTone, phaseWord } from "../ui/bits.tsx";
import { count, usd } from "../ui/format.ts";
import { useSteps } from "../ui/hooks.ts";
import { Thumb } from "../ui/media.tsx";
import { Panel } from "../ui/panel.tsx";
import { VirtualList } from "../ui/virtual.tsx";

interface Props {
  readonly model: RunModel;
  readonly group: string;
  readonly onOpen: (step: string) => void;
  readonly onClose: () => void;
}

export function GroupPanel({ model, group, onOpen, onClose }: Props) {
  const [phase, setPhase] = useState<string | null>(null);
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
  return (
    <Panel title={group} note={count(total, "step")} onClose={onClose}>
      <fieldset class="chips">
        <legend class="unseen">Show steps that are</legend>
        <button type="button" class="chip" aria-pressed={phase === null} onClick={() => setPhase(null)}>
          all <span>{total}</span>
        </button>
        {Object.entries(bundle?.phases ?? {}).map(([name, number]) => (
          <button type="button" key={name} class="chip" aria-pressed={phase === name} onClick={() => setPhase(name)}>
            {phaseWord(name as PageStep["phase"])} <span>{number}</span>
          </button>
        ))}
      </fieldset>
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
