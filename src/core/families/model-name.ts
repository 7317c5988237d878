/** The parts of a model's name, such as `fal/kling-2.6-turbo-pro-i2v`. */
export interface ModelName {
  /** Words of the model's name, without its vendor: `["kling"]`. */
  readonly family: readonly string[];
  /** Parts of the version as written: 2 and 6 for `2.6` or `2-6`, 26 for `26`. Empty if the name has no version. */
  readonly version: readonly string[];
  /** Product tiers that affect price and quality: `turbo`, `pro`. */
  readonly tiers: readonly string[];
  /** How the model is used, such as `i2v`; null if not stated. */
  readonly mode: string | null;
  /** Settings such as `high` or `1080p`. */
  readonly settings: readonly string[];
}

const TIERS = new Map(
  "pro max master ultra turbo fast lite mini flash plus standard std preview dev schnell"
    .split(" ")
    .map((word) => [word, word === "std" ? "standard" : word] as const),
);

const SETTINGS = new Set("low medium high hd sd uhd".split(" "));

const MODES: ReadonlyMap<string, string> = new Map([
  ...["i2v", "img2video", "image2video", "img2vid"].map((word) => [word, "i2v"] as const),
  ...["t2v", "text2video", "txt2video", "txt2vid"].map((word) => [word, "t2v"] as const),
  ...["v2v", "video2video"].map((word) => [word, "v2v"] as const),
  ...["r2v", "ref2v"].map((word) => [word, "r2v"] as const),
  ...["t2i", "text2image", "txt2img"].map((word) => [word, "t2i"] as const),
  ...["i2i", "img2img", "image2image", "edit"].map((word) => [word, "i2i"] as const),
  ...["t2s", "tts"].map((word) => [word, "tts"] as const),
  ["s2s", "s2s"],
]);

const VENDORS = new Set(
  (
    "alibaba amazon anthropic aws bfl blackforestlabs bytedance deepgram fal google kuaishou kwai microsoft minimax " +
    "openai replicate stability stabilityai tencent together togetherai volcengine xai"
  ).split(" "),
);

/** Parses a slug, id or display name. The vendor before a slash is ignored. */
export function parseModelName(name: string): ModelName {
  const words: string[] = [];
  const numbers: string[] = [];
  const tiers = new Set<string>();
  const settings = new Set<string>();
  let mode: string | null = null;
  for (const word of nameParts(name.slice(name.lastIndexOf("/") + 1))) {
    const tier = TIERS.get(word);
    if (MODES.has(word)) mode = MODES.get(word) ?? null;
    else if (tier !== undefined) tiers.add(tier);
    else if (SETTINGS.has(word) || /^\d+(?:p|k|s)$/.test(word)) settings.add(word);
    else if (/^\d+$/.test(word)) numbers.push(word);
    else words.push(word);
  }
  return {
    family: withoutVendor(words),
    version: numbers,
    tiers: [...tiers].sort(),
    mode,
    settings: [...settings],
  };
}

/**
 * Splits a name into words, such as `kling`, `2` and `6` for `kling2.6`, or `3` for `v3`. Words such as `o1`, `i2v` and
 * `1080p` stay whole.
 */
function nameParts(name: string): readonly string[] {
  const joined = name
    .toLowerCase()
    .replace(/\b(image|img|text|txt|video|vid|speech)-(?:to|2)-(image|img|video|vid|speech)\b/g, (_, from, to) => {
      return `${from[0]}2${to[0]}`;
    });
  return joined.split(/[^\p{L}\p{N}]+/u).flatMap((word) => {
    if (MODES.has(word)) return [word];
    const version = /^v(\d+)$/.exec(word)?.[1];
    if (version !== undefined) return [version];
    const [, letters, digits] = /^(\p{L}{2,}?)v?(\d+)$/u.exec(word) ?? [];
    return letters === undefined || digits === undefined ? (word === "" ? [] : [word]) : [letters, digits];
  });
}

/** Returns 2 for equal versions (1.0 equals 1), 1 if only a dot is missing (26 for 2.6), otherwise 0. */
export function versionSimilarity({ version: a }: ModelName, { version: b }: ModelName): 0 | 1 | 2 {
  if (significant(a) === significant(b)) return 2;
  const isUndotted = (a.length === 1) !== (b.length === 1);
  return isUndotted && a.join("") === b.join("") ? 1 : 0;
}

function significant(numbers: readonly string[]): string {
  const last = numbers.findLastIndex((number) => number !== "0");
  return numbers.slice(0, Math.max(1, last + 1)).join(".");
}

export function wordsOfLevel(level: string): readonly string[] {
  const { tiers, settings, family, version } = parseModelName(level);
  return [...tiers, ...settings, ...family, ...version];
}

function withoutVendor(words: readonly string[]): readonly string[] {
  const start = words.findIndex((word) => !VENDORS.has(word));
  return start === -1 ? words : words.slice(start);
}
