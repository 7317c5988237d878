import type { MeasuredMedia } from "../catalog/model.ts";
import { type FieldProblem, problem } from "../http/refusal.ts";

/** The media constraints of a field, from its schema's annotations. */
export type MediaRules = Readonly<Record<string, unknown>>;

/** A media input that was found and probed. */
export interface FoundMedia extends MeasuredMedia {
  readonly path: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Why it cannot be decoded; null when it can. */
  readonly fault: string | null;
  /** The job that produced it; null for an upload. */
  readonly sourceSeq: number | null;
}

function bound(rules: MediaRules, name: string): number | null {
  const value = rules[name];
  return typeof value === "number" ? value : null;
}

function kinds(rules: MediaRules): string[] {
  const types = rules["media_type"];
  return [types].flat().flatMap((type) => (typeof type === "string" ? [type.split("/")[0]!] : []));
}

interface Measure {
  readonly value: number | null;
  readonly least: string;
  readonly most: string;
  readonly unit: string;
}

function measures(media: FoundMedia): Measure[] {
  const { width, height } = media;
  const sized = width !== null && height !== null;
  return [
    { value: media.durationMs, least: "min_duration_ms", most: "max_duration_ms", unit: "ms long" },
    {
      value: sized ? Math.min(width, height) : null,
      least: "min_dimension_px",
      most: "",
      unit: "px at its shorter side",
    },
    {
      value: sized ? Math.max(width, height) : null,
      least: "",
      most: "max_dimension_px",
      unit: "px at its longer side",
    },
    { value: sized ? width / height : null, least: "min_aspect_ratio", most: "max_aspect_ratio", unit: "wide to high" },
  ];
}

function boundProblems(field: string, measure: Measure, rules: MediaRules): FieldProblem[] {
  const { value, unit } = measure;
  const least = bound(rules, measure.least);
  const most = bound(rules, measure.most);
  if (value === null) return [];
  if (least !== null && value < least) {
    return [problem(field, `the media is ${value} ${unit}; at least ${least} is needed`, measure.least)];
  }
  if (most === null || value <= most) return [];
  return [problem(field, `the media is ${value} ${unit}; at most ${most} is allowed`, measure.most)];
}

/** The violation of its field's constraints, if any. */
export function checkMedia(field: string, media: FoundMedia, rules: MediaRules): FieldProblem[] {
  const accepted = kinds(rules);
  if (accepted.length > 0 && !accepted.includes(media.kind)) {
    return [problem(field, `the media is ${media.kind}, not ${accepted.join(" or ")}`, "media_type", accepted)];
  }
  const largest = bound(rules, "max_file_size_bytes");
  const size =
    largest !== null && media.sizeBytes > largest
      ? [problem(field, `the file has ${media.sizeBytes} bytes; at most ${largest} are allowed`, "max_file_size_bytes")]
      : [];
  return [...size, ...measures(media).flatMap((measure) => boundProblems(field, measure, rules))];
}

/** `max_total_duration_ms` over all media of one field. */
export function checkTotal(field: string, media: readonly FoundMedia[], rules: MediaRules): FieldProblem[] {
  const most = bound(rules, "max_total_duration_ms");
  const total = media.reduce((sum, item) => sum + (item.durationMs ?? 0), 0);
  if (most === null || total <= most) return [];
  return [problem(field, `lasts ${total} ms in all; at most ${most} ms are allowed`, "max_total_duration_ms")];
}
