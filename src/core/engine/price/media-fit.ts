import { formatDuration } from "../../kit/duration.ts";
import type { AcceptedMedia } from "../../plan/schema.ts";
import type { Expected } from "./expected-media.ts";

type Media = Extract<AcceptedMedia, { readonly what: "media" }>;

export interface MediaFit {
  readonly problem: string | null;
  readonly condition: string | null;
  readonly value: number;
}

interface Measure {
  readonly expected: Expected;
  readonly min: number;
  readonly max: number;
  readonly verb: string;
  readonly asText: (value: number) => string;
  readonly otherwise: string;
}

export function fitDuration(step: string, expected: Expected, { bounds }: Pick<Media, "bounds">): MediaFit {
  const { min_duration_ms: min = 0, max_duration_ms: max = Infinity } = bounds;
  const otherwise = `change ${step}, or state its duration with expect: { durationMs } in its options`;
  return fitted(step, { expected, min, max, verb: "last", asText: formatDuration, otherwise });
}

export function fitRatio(step: string, expected: Expected | null, { bounds }: Pick<Media, "bounds">): MediaFit {
  const { min_aspect_ratio: min = 0, max_aspect_ratio: max = Infinity } = bounds;
  const asText = (value: number) => `${Number(value.toFixed(2))} : 1`;
  return fitted(step, {
    expected: expected ?? { value: 1, factor: 2, why: null },
    min,
    max,
    verb: "have an aspect ratio of",
    asText,
    otherwise: `change ${step} or the step that uses it`,
  });
}

function fitted(step: string, { expected, min, max, verb, asText, otherwise }: Measure): MediaFit {
  const { value, factor, why } = expected;
  const [least, most] = [value / factor, value * factor];
  const needed =
    most <= max
      ? `at least ${asText(min)}`
      : least >= min
        ? `at most ${asText(max)}`
        : `${asText(min)} to ${asText(max)}`;
  const isIn = least >= min && most <= max;
  const isOut = why !== null && (most < min || least > max);
  return {
    problem: isOut
      ? `${step} is expected to ${verb} ${asText(value)} (according to ${why}) but must ${verb} ${needed}; ${otherwise}`
      : null,
    condition: isIn || isOut ? null : `${step} must ${verb} ${needed}`,
    value: Math.min(Math.max(value, min), max),
  };
}
