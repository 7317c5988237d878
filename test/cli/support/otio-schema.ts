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
const range = z.strictObject({ OTIO_SCHEMA: z.literal("TimeRange.1"), start_time: time, duration: time });
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
  .refine((one) => one.active_media_reference_key in one.media_references, "the active reference is there");

const track = z.strictObject({
  OTIO_SCHEMA: z.literal("Track.1"),
  ...item,
  kind: z.enum(["Video", "Audio"]),
  children: z.array(clip),
});

export const otioTimelineSchema = z.strictObject({
  OTIO_SCHEMA: z.literal("Timeline.1"),
  ...named,
  global_start_time: time.nullable(),
  tracks: z.strictObject({ OTIO_SCHEMA: z.literal("Stack.1"), ...item, children: z.array(track) }),
});
