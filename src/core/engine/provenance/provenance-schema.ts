import { z } from "zod";
import { sourceTypes } from "../../marks/index.ts";
import { type Json, stepKinds } from "../../plan/plan.ts";

/**
 * The manifest beside each named file of a run, which records how the file was made. Keys may be added later, but
 * existing ones keep their meaning.
 */
export const manifestSchema = z.lazy(() => {
  const json: z.ZodType<Json> = z.json();
  const instant = z.iso.datetime();
  const usd = z.string().regex(/^\d+(\.\d+)?$/);
  const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

  const output = z.object({
    index: z.int().nonnegative(),
    /** SHA-256 hash of the stored copy. Null for a voice, or if there is no copy of the media. */
    sha256: sha256.nullable(),
    content_type: z.string().nullable(),
    asset_id: z.string().nullable(),
    voice_id: z.string().nullable(),
  });

  const attempt = z.object({
    n: z.int().positive(),
    job_id: z.string().nullable(),
    status: z.string(),
    /** The actual cost; null until the service has billed it. */
    cost: usd.nullable(),
  });

  const decidedBy = z.object({
    name: z.string(),
    /** False if the name was only typed in and not verified. */
    verified: z.boolean(),
    /** Id of the review link through which the person decided. */
    link: z.string().optional(),
  });

  const step = z.object({
    path: z.string(),
    kind: z.enum(stepKinds),
    model: z.string().nullable(),
    /**
     * The request. Media appear as `{ step, output, sha256 }`, voices as `{ step, voice_id }`, and other results as their
     * values. Null for steps that request nothing.
     */
    input: json,
    /** Fields of the input that an edit or a note changed in this run. */
    edited: z.array(z.string()).optional(),
    seed: z.number().nullable(),
    /** The version that the author gave to the local function. */
    version: z.string().nullable(),
    attempts: z.array(attempt),
    outputs: z.array(output),
    /** The value that a chat or local function returned. Null if there is none. */
    value: json,
    /** The output that an approval or pick chose. */
    chosen: z.object({ step: z.string(), index: z.int().nonnegative() }).nullable(),
    approval: z.object({ approved: z.boolean(), note: z.string().nullable(), by: decidedBy.optional() }).nullable(),
    /** Set if the result was reused from an earlier run at no cost. */
    reused_from: z.object({ run: z.string(), step: z.string(), made_at: instant }).nullable(),
    finished_at: instant.nullable(),
  });

  return z.object({
    /** Version of the manifest format. */
    manifest: z.literal(1),
    /** Version of Showrunner that wrote the manifest. */
    showrunner: z.string(),
    file: z.object({
      /** Path relative to the run's folder. */
      name: z.string(),
      sha256,
      size_bytes: z.int().nonnegative(),
      content_type: z.string(),
      width: z.number().nullable(),
      height: z.number().nullable(),
      duration_ms: z.number().nullable(),
      fps: z.number().nullable(),
    }),
    /** IPTC's digital source type. Null for text, and for files made without a model. */
    digital_source_type: z.enum(sourceTypes).nullable(),
    /** How the file was marked as AI-generated. Not set if the run writes no marks or no model made the file. */
    mark: z
      .discriminatedUnion("status", [
        z.object({
          status: z.literal("marked"),
          digital_source_type: z.string(),
          /** Hash of the output before marking; `file` contains the hash after marking. */
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
    profile: z.string().nullable(),
    service: z.object({ base_url: z.string() }),
    /** The pipeline's input without secrets; local files appear as `{ file, kind }`. Null if `input_sha256` is set. */
    input: json,
    /** Hash of an input whose JSON exceeds 16 kB. Such an input is stored only in the run's journal. */
    input_sha256: sha256.optional(),
    /** Ids of all models used, sorted. */
    models: z.array(z.string()),
    /** The step that made the file and all steps it depends on, each listed after those that it uses. */
    steps: z.array(step),
    /** Total cost of the listed steps in this run. */
    cost: usd,
    /** Consent of the speakers whose voices this run cloned. Set only if the file uses such a voice. */
    voice_consent: z
      .object({
        note: z.string(),
        voices: z.array(
          z.object({
            step: z.string(),
            voice_id: z.string().nullable(),
            /** The pipeline's statement of the speaker's consent. Null if there is none. */
            statement: z.string().nullable(),
          }),
        ),
      })
      .nullable(),
  });
});

/** A manifest that has passed {@link manifestSchema}. */
export type Manifest = z.output<typeof manifestSchema>;
export type ManifestStep = Manifest["steps"][number];
