import type { PageMedia, RefusedMedia } from "../../views/document.ts";
import { Thumb } from "./media.tsx";

const STRETCH = /from ([\d.]+) s to ([\d.]+) s/g;
const MOST_FRAMES = 6;

export function Refused({
  refused,
  onOpen,
}: {
  readonly refused: readonly RefusedMedia[];
  readonly onOpen?: (step: string) => void;
}) {
  return (
    <>
      {refused.map(({ step, reason, shows }) => (
        <section class="note bad" key={step} aria-label={`Refused by ${step}`}>
          <strong>
            Refused by{" "}
            {onOpen === undefined ? (
              step
            ) : (
              <button type="button" class="link" onClick={() => onOpen(step)}>
                {step}
              </button>
            )}
          </strong>
          <ul>
            {reason.split("; ").map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
          <ol class="used">
            {shows.flatMap((media) =>
              timesOf(media, reason).map((at) => (
                <li key={`${media.step} ${media.index} ${at}`}>
                  <Thumb media={media} at={at} label={frameLabel(media, at)} />
                </li>
              )),
            )}
          </ol>
        </section>
      ))}
    </>
  );
}

function frameLabel({ step, index, kind }: PageMedia, at: number): string {
  if (kind === "video") return `${step} at ${Math.round(at * 10) / 10} s`;
  return typeof index === "number" && index > 0 ? `${step}, ${index + 1}` : step;
}

/** Returns the middle of each time range in `reason`, in seconds. */
function timesOf({ kind }: PageMedia, reason: string): readonly number[] {
  if (kind !== "video") return [0];
  const stretches = [...reason.matchAll(STRETCH)].map(([, from, to]) => (Number(from) + Number(to)) / 2);
  return stretches.length === 0 ? [0.1] : [...new Set(stretches)].slice(0, MOST_FRAMES);
}
