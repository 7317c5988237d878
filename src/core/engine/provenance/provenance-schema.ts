import { z } from "zod";
import { sourceTypes } from "../../marks/index.ts";
import { stepKinds } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";

const json: z.ZodType<Json> = z.json();
const instant = z.iso.datetime();
/** Decimal of US dollars, such as `0.25`. */
const usd = z.string().regex(/^\d+(\.\d+)?$/);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const output = z.object({
  index: z.int().nonnegative(),
  /** Null for a voice, and for media that nobody copied. */
  sha256: sha256.nullable(),
  content_type: z.string().nullable(),
  asset_id: z.string().nullable(),
  voice_id: z.string().nullable(),
});

const attempt = z.object({
  n: z.int().positive(),
  job_id: z.string().nullable(),
  status: z.string(),
  /** What it really cost; null while the bill is not known. */
  cost: usd.nullable(),
});

const decidedBy = z.object({
  name: z.string(),
  /** False: typed by whoever decided, and checked by nobody. */
  verified: z.boolean(),
  /** The review link that they came by. */
  link: z.string().optional(),
});

const step = z.object({
  path: z.string(),
  kind: z.enum(stepKinds),
  model: z.string().nullable(),
  /**
   * What it asked for. Media stand as `{ step, output, sha256 }`, voices as `{ step, voice_id }`; what others answered
   * stands as itself. Null for steps that ask for nothing.
   */
  input: json,
  /** Fields of it that somebody edited for this run, or that a note changed. */
  edited: z.array(z.string()).optional(),
  seed: z.number().nullable(),
  /** Of a local function, as its author counts it. */
  version: z.string().nullable(),
  attempts: z.array(attempt),
  outputs: z.array(output),
  /** What a chat or a task answered; null also where there is none. */
  value: json,
  /** Which output an approval or a pick stands for. */
  chosen: z.object({ step: z.string(), index: z.int().nonnegative() }).nullable(),
  approval: z.object({ approved: z.boolean(), note: z.string().nullable(), by: decidedBy.optional() }).nullable(),
  /** Taken over from an earlier run, for nothing. */
  reused_from: z.object({ run: z.string(), step: z.string(), made_at: instant }).nullable(),
  finished_at: instant.nullable(),
});

/** How a file came about: the JSON beside each named file of a run. Keys may be added; none changes its meaning. */
export const manifestSchema = z.object({
  /** Version of this shape. */
  manifest: z.literal(1),
  /** Version of Showrunner that wrote it. */
  showrunner: z.string(),
  file: z.object({
    /** Relative to the run's folder. */
    name: z.string(),
    sha256,
    size_bytes: z.int().nonnegative(),
    content_type: z.string(),
    width: z.number().nullable(),
    height: z.number().nullable(),
    duration_ms: z.number().nullable(),
    fps: z.number().nullable(),
  }),
  /** IPTC's digital source type: made by a model, or put together with what a model made. Null: no model took part, or it is text. */
  digital_source_type: z.enum(sourceTypes).nullable(),
  /** Of a file that was to say that a machine made it: what was done. Absent: it is the output byte for byte. */
  mark: z
    .discriminatedUnion("status", [
      z.object({
        status: z.literal("marked"),
        digital_source_type: z.string(),
        /** Of the output itself; `file` has what it became. */
        output_sha256: sha256,
      }),
      z.object({ status: z.literal("kept"), digital_source_type: z.string() }),
      z.object({ status: z.literal("left"), reason: z.string() }),
    ])
    .optional(),
  made_by: z.object({ step: z.string(), output: z.int().nonnegative() }),
  created_at: instant,
  pipeline: z.string(),
  run: z.string(),
  /** Name of the profile that the run was made with. */
  profile: z.string().nullable(),
  service: z.object({ base_url: z.string() }),
  /** The pipeline's input; secrets are out, local files stand as `{ file, kind }`. Null where `input_sha256` is set. */
  input: json,
  /** Of an input too large to stand beside every file, over 16 kB of JSON: the run's journal has it, and each step its own. */
  input_sha256: sha256.optional(),
  /** Every model that took part, sorted. */
  models: z.array(z.string()),
  /** The step that made the file and those that led to it, each after what it used. */
  steps: z.array(step),
  /** Of these steps together, in this run. */
  cost: usd,
  /** Set when a voice that was cloned in this run took part. */
  voice_consent: z
    .object({
      note: z.string(),
      voices: z.array(
        z.object({
          step: z.string(),
          voice_id: z.string().nullable(),
          /** What the pipeline says of the speaker's consent; null when it says nothing. */
          statement: z.string().nullable(),
        }),
      ),
    })
    .nullable(),
});

/** See {@link manifestSchema}. */
export type Manifest = z.output<typeof manifestSchema>;
export type ManifestStep = Manifest["steps"][number];
