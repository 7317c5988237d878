import { z } from "zod";

/*
 * The core schemas of OpenTimelineIO as its documentation lists their fields ("Serialized Data", schema versions of 0.15 and later:
 * Clip.2, Marker.2), all others refused. Its own Python package is no part of these tests.
 */
const metadata = z.record(z.string(), z.unknown());
const time = z.strictObject({
  OTIO_SCHEMA: z.literal("RationalTime.1"),
  rate: z.number().positive(),
  value: z.number(),
});
const range = z
  .strictObject({ OTIO_SCHEMA: z.literal("TimeRange.1"), start_time: time, duration: time })
  .refine(({ start_time, duration }) => start_time.rate === duration.rate, "both times have one rate")
  .refine(
    ({ start_time, duration }) => start_time.value >= 0 && duration.value >= 0,
    "it begins at 0 or later, and lasts",
  )
  .refine((one) => [one.start_time, one.duration].every(({ value }) => Number.isInteger(value)), "whole frames");
const named = { metadata, name: z.string() };

const marker = z.strictObject({
  OTIO_SCHEMA: z.literal("Marker.2"),
  ...named,
  color: z.enum(["PINK", "RED", "ORANGE", "YELLOW", "GREEN", "CYAN", "BLUE", "PURPLE", "MAGENTA", "BLACK", "WHITE"]),
  comment: z.string(),
  marked_range: range,
});

const item = {
  ...named,
  source_range: range.nullable(),
  effects: z.array(z.never()),
  markers: z.array(marker),
  enabled: z.boolean(),
};

const external = z.strictObject({
  OTIO_SCHEMA: z.literal("ExternalReference.1"),
  ...named,
  available_range: range.nullable(),
  available_image_bounds: z.null(),
  target_url: z.url(),
});

const clip = z
  .strictObject({
    OTIO_SCHEMA: z.literal("Clip.2"),
    ...item,
    media_references: z.record(z.string().min(1), external),
    active_media_reference_key: z.string(),
  })
  .refine((one) => one.active_media_reference_key in one.media_references, "the active reference is there")
  .refine(({ source_range, media_references, active_media_reference_key: key }) => {
    const there = media_references[key]?.available_range ?? null;
    return source_range !== null && (there === null || isWithin(source_range, there));
  }, "what is shown is within what there is");

const track = z.strictObject({
  OTIO_SCHEMA: z.literal("Track.1"),
  ...item,
  kind: z.enum(["Video", "Audio"]),
  children: z.array(clip),
});

type Range = z.output<typeof range>;
const endOf = ({ start_time, duration }: Range) => start_time.value + duration.value;
const isWithin = (inner: Range, outer: Range) =>
  inner.start_time.value >= outer.start_time.value && endOf(inner) <= endOf(outer);

/** All rates in a value. */
function ratesIn(value: unknown): readonly number[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === "rate" ? [inner as number] : ratesIn(inner)));
}

export const otioTimelineSchema = z
  .strictObject({
    OTIO_SCHEMA: z.literal("Timeline.1"),
    ...named,
    global_start_time: time.nullable(),
    tracks: z.strictObject({ OTIO_SCHEMA: z.literal("Stack.1"), ...item, children: z.array(track) }),
  })
  .refine((timeline) => new Set(ratesIn(timeline)).size === 1, "one rate throughout");
