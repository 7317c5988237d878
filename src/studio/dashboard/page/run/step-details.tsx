import type { ComponentChildren } from "preact";
import type { PageAttempt, PageStep, StepDetail } from "../../views/document.ts";
import type { RunModel } from "../state/run-store.ts";
import { StepLink } from "../ui/bits.tsx";
import { clockTime, usd } from "../ui/format.ts";
import { earlierLabel, useEarlier } from "../ui/hooks.ts";
import { Player, Thumb } from "../ui/media.tsx";
import { Data } from "../ui/panel.tsx";

interface Props {
  readonly step: PageStep;
  readonly model: RunModel;
  readonly onOpen: (step: string) => void;
  readonly detail: StepDetail;
}

export function StepDetails({ step, model, detail, onOpen }: Props) {
  const { input, inputIsCut, uses, value, needs, usedBy, events } = detail;
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
          <Used model={model} uses={uses} onOpen={onOpen} />
          <Data value={input} />
          {inputIsCut && <p class="quiet">Long texts are shortened here; the journal has them in full.</p>}
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
                "SHA-256": sha256 ?? "no local copy",
              }}
            />
          ))}
        </Section>
      )}
      {step.attempts.length > 0 && (
        <Section title="Attempts">
          <Before runId={model.head.id} step={step} />
          <ul class="attempts">
            {step.attempts.map((attempt) => (
              <Attempt key={`${attempt.kind} ${attempt.n}`} attempt={attempt} reason={step.reason} />
            ))}
          </ul>
        </Section>
      )}
      <Section title="History">
        <ol class="happened">
          {events.map(({ seq, at, type, text }) => (
            <li key={seq}>
              <time dateTime={new Date(at).toISOString()}>{clockTime(at)}</time> <b>{type}</b>{" "}
              {step.reason === null ? text : text.replace(`: ${step.reason}`, "")}
            </li>
          ))}
        </ol>
      </Section>
    </>
  );
}

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

interface NeighboursProps {
  readonly title: string;
  readonly paths: readonly string[];
  readonly onOpen: (step: string) => void;
}

function Neighbours({ title, paths, onOpen }: NeighboursProps) {
  if (paths.length === 0) return null;
  return (
    <p class="links">
      <span class="quiet">{title}</span>
      {paths.slice(0, 12).map((path) => (
        <StepLink key={path} step={path} onOpen={onOpen} />
      ))}
      {paths.length > 12 && <span class="quiet">and {paths.length - 12} more</span>}
    </p>
  );
}

function Used({ model, uses, onOpen }: Pick<StepDetail, "uses"> & Pick<Props, "model" | "onOpen">) {
  const media = uses.flatMap((use) => {
    const made = model.steps.get(use.step)?.media.find(({ index }) => index === use.index);
    return made === undefined || made.url === null ? [] : [made];
  });
  if (media.length === 0) return null;
  return (
    <ol class="used">
      {media.map((one) => (
        <li key={`${one.step} ${one.index}`}>
          <button type="button" title={one.step} onClick={() => onOpen(one.step)}>
            <Thumb media={one} label={one.step} />
          </button>
        </li>
      ))}
    </ol>
  );
}

function Before({ runId, step }: { readonly runId: string; readonly step: PageStep }) {
  return (
    <ol class="takes">
      {useEarlier(runId, step).map((media) => (
        <li key={media.url}>
          <Player media={media} label={earlierLabel(media)} />
          <span class="quiet">earlier attempt {media.attempt}</span>
        </li>
      ))}
    </ol>
  );
}

/** Shows an attempt. Omits an error message that equals `reason`, which the panel already shows. */
function Attempt({ attempt, reason }: { readonly attempt: PageAttempt; readonly reason: string | null }) {
  const { n, phase, jobId, costMicros, holdMicros, money, error, isSuperseded } = attempt;
  const paid = costMicros === null ? (money === "held" ? `${usd(holdMicros)} held` : null) : usd(costMicros);
  return (
    <li class={isSuperseded ? "superseded" : ""}>
      <b>{n}</b>
      <span>
        {phase}
        {isSuperseded && ", since rerun"}
        {jobId !== null && (
          <>
            {" "}
            <code>{jobId}</code>
          </>
        )}
        {error !== null && (
          <em>
            {error.code}
            {error.message !== reason && `: ${error.message}`}
          </em>
        )}
      </span>
      <span class="cost">{paid}</span>
    </li>
  );
}
