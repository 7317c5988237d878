import type { FamilyInput, FamilyRule } from "./family.ts";

/**
 * What is known of families beyond their schemas. The rules are those that the API's description states for its example
 * model, a kling 3, in words only; those about tiers are kept for the version that the description shows.
 */
const ONE_PROMPT: FamilyRule = {
  kind: "one_of",
  fields: ["prompt", "multi_prompt"],
  message: "a film has one prompt or a list of shots; give just one of them",
};

const SHOTS_FIT: FamilyRule = {
  kind: "max_sum",
  field: "multi_prompt",
  of: "duration_ms",
  max: 15_000,
  message: "shorten shots, or leave one out",
};

const END_NEEDS_START: FamilyRule = {
  kind: "requires",
  when: { field: "end_image" },
  fields: ["start_image"],
  message: "an end frame goes only with a start frame; give start_image too, or leave end_image out",
};

const TIERS: readonly FamilyRule[] = [
  {
    kind: "requires",
    when: { field: "quality", is: ["pro"] },
    fields: ["resolution"],
    message: "quality pro does not choose it; give 1080p or 4K",
  },
  {
    kind: "values",
    when: { field: "quality", is: ["pro"] },
    field: "resolution",
    values: ["1080p", "4K"],
    message: "quality pro is the 1080p and 4K tier; give one of them, or quality standard",
  },
  {
    kind: "values",
    when: { field: "quality", is: ["standard"] },
    field: "resolution",
    values: ["720p"],
    message: "quality standard is the 720p tier; give 720p, or quality pro",
  },
];

/** Orders of magnitude, not measurements: they choose between chains and pace simulations until a run has measured. */
const TYPICAL_SECONDS: Readonly<Record<string, number>> = {
  veo: 90,
  "veo-fast": 60,
  sora: 120,
  "sora-pro": 300,
  hailuo: 150,
  seedance: 60,
  wan: 120,
  "nano-banana": 12,
  "nano-banana-pro": 30,
  "gpt-image": 40,
  flux: 8,
  "flux-schnell": 3,
  seedream: 15,
  imagen: 8,
};

/** No prices are built in: none that is known holds for every service. */
export const BUILT_IN: readonly FamilyInput[] = [
  ...Object.entries(TYPICAL_SECONDS).map(([name, seconds]) => ({ name, models: [name], typical_seconds: seconds })),
  { name: "kling", models: ["kling"], rules: [ONE_PROMPT, SHOTS_FIT, END_NEEDS_START], typical_seconds: 120 },
  {
    name: "kling-3",
    models: ["kling-3", "kling-30"],
    rules: [...TIERS, ONE_PROMPT, SHOTS_FIT, END_NEEDS_START],
    typical_seconds: 150,
  },
];
