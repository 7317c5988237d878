import { choice, type Draw, type Field } from "./fields.ts";

/** A row of a table of combinations. */
export interface Row {
  readonly requires: readonly string[];
  readonly omits: readonly string[];
  readonly accepts: Readonly<Record<string, readonly (string | number)[]>>;
}

/** The fields of a model with a table. */
export interface Mode {
  readonly modality: "image" | "video" | "audio";
  readonly names: readonly string[];
  /** Fields that differ from fields of the same name in other models. */
  readonly own?: Readonly<Record<string, Field>>;
  readonly required: readonly string[];
  readonly rows: readonly Row[];
}

const row = (requires: readonly string[], omits: readonly string[] = [], accepts: Row["accepts"] = {}): Row => ({
  requires,
  omits,
  accepts,
});

/** Formats the table in the form in which a service publishes it in the description of an input. */
export function tableText(rows: readonly Row[]): string {
  const lines = rows.map(({ requires, omits, accepts }, index) => {
    const specs = Object.entries(accepts).map(([name, values]) => `${name}: ${values.join(" | ")}`);
    const clauses = [
      `requires: ${requires.join(", ")}`,
      ...(omits.length > 0 ? [`must omit: ${omits.join(", ")}`] : []),
      ...(specs.length > 0 ? [`accepts ${specs.join("; ")}`] : []),
    ];
    return `(${index + 1}) ${clauses.join("; ")}`;
  });
  return ["Accepted field combinations (one per input mode):", ...lines].join("\n");
}

/** A table with two levels, each with a start picture, with a start and an end picture, or without pictures. */
export function levels(draw: Draw): Mode {
  const [low, high] = draw.one([
    ["standard", "pro"],
    ["fast", "fast-pro"],
  ] as const);
  const base = ["prompt", "duration_ms"];
  const pictures = [
    [["start_image"], ["end_image"]],
    [["start_image", "end_image"], []],
    [[], ["start_image", "end_image"]],
  ] as const;
  const level = (name: string, more: readonly string[], resolution: readonly string[]) =>
    pictures.map(([given, omitted]) => row([...base, ...more, ...given], omitted, { quality: [name], resolution }));
  return {
    modality: "video",
    names: [...base, "resolution", "quality", "start_image", "end_image", "negative_prompt", "generate_audio"],
    own: { quality: choice([low, high], low) },
    required: base,
    rows: [...level(high, ["resolution"], ["1080p", "4K"]), ...level(low, [], ["720p"])],
  };
}

/** A table in which either pictures or an aspect ratio are given. */
export function pictureOrShape(draw: Draw): Mode {
  const preset = draw.one([undefined, undefined, "1:1"]);
  return {
    modality: "image",
    names: ["prompt", "images", "aspect_ratio", "seed", "size_px"],
    own: { aspect_ratio: choice(["1:1", "4:3", "16:9"], preset) },
    required: ["prompt"],
    rows: [row(["prompt", "images"], ["aspect_ratio"]), row(["prompt", "aspect_ratio"], ["images"])],
  };
}

/** A table in which a level is available with only one duration. */
export function lengthOfLevel(): Mode {
  const base = ["prompt", "duration_ms"];
  return {
    modality: "video",
    names: [...base, "quality", "start_image", "seed", "bounding_box"],
    own: { quality: choice(["standard", "pro"], "standard"), duration_ms: choice([6000, 10_000]) },
    required: base,
    rows: [
      row(base, [], { quality: ["standard"], duration_ms: [6000, 10_000] }),
      row(base, [], { quality: ["pro"], duration_ms: [6000] }),
    ],
  };
}

/** A table in which the source is either a film or a picture. */
export function eitherSource(): Mode {
  return {
    modality: "video",
    names: ["source_video", "image", "resolution"],
    required: [],
    rows: [row(["source_video"], ["image"]), row(["image"], ["source_video"])],
  };
}

/** A table in which a film is made from a prompt or from one of two kinds of media. */
export function threeWays(draw: Draw): Mode {
  const [first, second] = draw.one([
    ["start_image", "images"],
    ["images", "source_video"],
    ["start_image", "audio"],
    ["shots", "start_image"],
  ] as const);
  const hasPrompt = draw.one([true, false]);
  const always = hasPrompt ? ["prompt"] : [];
  return {
    modality: "video",
    names: ["prompt", first, second, "aspect_ratio", "duration_ms", "seed"],
    required: always,
    rows: [
      row(["prompt"], [first, second]),
      row([...always, first], [second]),
      row([...always, second, "aspect_ratio"], [first]),
    ],
  };
}

/** A table with one row; the schema requires only a part of its fields. */
export function oneWay(draw: Draw): Mode {
  const source = draw.one(["audio", "text"]);
  const requires = ["prompt", "start_image", source];
  return { modality: "video", names: [...requires, "resolution"], required: ["prompt"], rows: [row(requires)] };
}

/** A table in which some resolutions are available only with some durations and aspect ratios. */
export function sizes(draw: Draw): Mode {
  const lengths = [4, 6, 8, draw.number(9, 12)].map((seconds) => seconds * 1000);
  const base = ["prompt", "duration_ms", "resolution"];
  return {
    modality: "video",
    names: [...base, "aspect_ratio", "start_image", "cfg_scale"],
    own: { aspect_ratio: choice(["16:9", "9:16", "1:1"], "16:9"), duration_ms: choice(lengths) },
    required: base,
    rows: [
      row(base, [], { resolution: ["720p"], duration_ms: lengths.slice(0, 3) }),
      row(base, [], { resolution: ["1080p"], duration_ms: [lengths[2]!] }),
      row(base, [], { resolution: ["4K"], aspect_ratio: ["16:9"] }),
    ],
  };
}
