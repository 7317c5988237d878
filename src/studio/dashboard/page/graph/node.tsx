import type { PageStep, StepProgress } from "../../views/document.ts";
import type { Bundle, StepPhase } from "../../views/groups.ts";
import { Dot, Icon, phaseTone, phaseWord, type Tone } from "../ui/bits.tsx";
import { count, usd } from "../ui/format.ts";
import { Thumb } from "../ui/media.tsx";
import type { Placed } from "./layout.ts";

export const NODE_WIDTH = 196;
const THUMB_HEIGHT = 104;
const TEXT_HEIGHT = 58;

/** Returns the height of a node. It includes room for a preview, so that no node moves when the preview loads. */
export function nodeHeight({ members, count }: Bundle): number {
  const [first] = members;
  if (count > 1) return TEXT_HEIGHT + 52;
  return TEXT_HEIGHT + (first?.hasPicture === true ? THUMB_HEIGHT : 0);
}

interface Props {
  readonly bundle: Bundle;
  readonly box: Placed;
  readonly isChosen: boolean;
  readonly progress: ReadonlyMap<string, StepProgress>;
  readonly onOpen: () => void;
  readonly onKey: (event: KeyboardEvent) => void;
}

export function GraphNode({ bundle, box, isChosen, progress, onOpen, onKey }: Props) {
  const [only] = bundle.members;
  const isGroup = bundle.count > 1 || only === undefined;
  const style = { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` };
  const tone = isGroup ? groupTone(bundle) : phaseTone(only!.phase);
  return (
    <button
      type="button"
      class={`node ${tone}${isChosen ? " chosen" : ""}${isGroup ? " stack" : ""}`}
      style={style}
      data-node={bundle.key}
      aria-pressed={isChosen}
      onClick={onOpen}
      onKeyDown={onKey}
    >
      {isGroup ? (
        <GroupFace bundle={bundle} tone={tone} />
      ) : (
        <StepFace step={only!} progress={progress.get(only!.path) ?? null} />
      )}
    </button>
  );
}

export const measured: ReadonlySet<string> = new Set(["uploading", "rendering", "downloading"]);

const icons = { file: "upload", decision: "approve", group: "group", value: "value" } as const;

function iconOf({ icon, yields }: PageStep) {
  if (icon !== "media") return icons[icon];
  if (yields === "audio") return "sound";
  if (yields === "voice") return "voice";
  return yields === "video" ? "film" : yields === "image" ? "image" : "value";
}

function StepFace({ step, progress }: { readonly step: PageStep; readonly progress: StepProgress | null }) {
  const media = step.media.find(({ kind }) => kind === "image" || kind === "video");
  const cut = step.path.lastIndexOf("/") + 1;
  const fraction = measured.has(step.phase) ? (progress?.progress ?? null) : null;
  const cost = step.costMicros ?? step.quote?.costMicros ?? null;
  return (
    <>
      {step.hasPicture && (
        <span class="picture">
          {media === undefined ? (
            <span class="thumb blank">
              <Icon name={iconOf(step)} />
            </span>
          ) : (
            <Thumb media={media} label="" />
          )}
          {step.media.length > 1 && <span class="badge">{step.media.length}</span>}
        </span>
      )}
      <span class="words">
        <span class="path" title={step.path}>
          {!step.hasPicture && <Icon name={iconOf(step)} />}
          <span>
            {cut > 0 && <small>{step.path.slice(0, cut)}</small>}
            {step.path.slice(cut)}
          </span>
        </span>
        <span class="line">
          <Dot tone={phaseTone(step.phase)} />
          <span class="phase">
            {step.reusedFrom === null ? phaseWord(step.phase) : "reused"}
            {fraction !== null && ` ${Math.round(fraction * 100)}%`}
          </span>
          {cost !== null && <span class={step.costMicros === null ? "cost guess" : "cost"}>{usd(cost)}</span>}
        </span>
      </span>
      {fraction !== null && <span class="fraction" style={{ width: `${Math.round(fraction * 100)}%` }} />}
    </>
  );
}

function GroupFace({ bundle, tone }: { readonly bundle: Bundle; readonly tone: Tone }) {
  const { members, key, count: total } = bundle;
  const done = tonesOf(bundle).get("good") ?? 0;
  const pictures = members.flatMap(({ media }) =>
    media.filter(({ kind, url }) => url !== null && (kind === "image" || kind === "video")).slice(0, 1),
  );
  return (
    <>
      <span class="mosaic">
        {pictures.slice(-4).map((media) => (
          <Thumb key={`${media.step} ${media.index}`} media={media} label="" />
        ))}
        {pictures.length === 0 && members[0] !== undefined && <Icon name={iconOf(members[0])} />}
      </span>
      <span class="words">
        <span class="path" title={key}>
          <span>{key}</span>
        </span>
        <span class="line">
          <Dot tone={tone} />
          <span class="phase">
            {done} of {count(total, "step")}
          </span>
        </span>
      </span>
      <Waffle bundle={bundle} />
    </>
  );
}

function tonesOf({ phases }: Bundle): ReadonlyMap<Tone, number> {
  const tones = new Map<Tone, number>();
  for (const [phase, number] of Object.entries(phases) as [StepPhase, number][]) {
    const tone = phaseTone(phase);
    tones.set(tone, (tones.get(tone) ?? 0) + number);
  }
  return tones;
}

function groupTone(bundle: Bundle): Tone {
  const tones = tonesOf(bundle);
  return (
    (["bad", "ask", "active", "idle", "off"] as const).find(
      (tone) => tones.has(tone) && (tone !== "idle" || !tones.has("good")),
    ) ?? (tones.has("idle") ? "active" : "good")
  );
}

function Waffle({ bundle }: { readonly bundle: Bundle }) {
  const tones = tonesOf(bundle);
  return (
    <span class="stepbar edge" aria-hidden="true">
      {(["good", "active", "ask", "bad", "off"] as const).map((tone) => (
        <span key={tone} class={tone} style={{ width: `${(100 * (tones.get(tone) ?? 0)) / bundle.count}%` }} />
      ))}
    </span>
  );
}
