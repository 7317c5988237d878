import type { ModelView } from "./view.ts";

/** Words of a slug that say which level of a model is meant, as v3 names them. */
const LEVELS = new Map([
  ...["standard", "std", "fast", "lite", "turbo"].map((word) => [word, "standard"] as const),
  ...["pro", "max", "master", "ultra", "hd"].map((word) => [word, "pro"] as const),
]);

/** Words that say in which way a model is used; in v3 its input says so. */
const MODES = new Set("i2v t2v v2v t2i i2i tts t2s s2s i2 image2video text2video img2img edit".split(" "));

/** Slugs whose name alone does not lead to the v3 id; the first that the catalog has is taken. */
const TABLE: ReadonlyMap<string, readonly string[]> = new Map([
  ["google/nano-banana-pro", ["nano-banana-pro", "nano-banana"]],
  ["fal/grok-video-i2v", ["grok-video", "grok-imagine-video", "grok-video-i2v"]],
  ["together/hedra-avatar", ["hedra-avatar", "hedra-character"]],
]);

export interface SlugMatch {
  readonly view: ModelView;
  /** Level that the slug names and the model has as `quality`. */
  readonly quality: string | null;
  /** `same`: the table or the name says so; `similar`: to be confirmed. */
  readonly is: "same" | "similar";
}

/** The model that a slug means, among those that can be used; null when none is even similar. */
export function matchSlug(slug: string, views: readonly ModelView[]): SlugMatch | null {
  const name = slug.slice(slug.lastIndexOf("/") + 1).toLowerCase();
  const byId = new Map(views.map((view) => [view.id.toLowerCase(), view]));
  const listed = TABLE.get(slug.toLowerCase()) ?? [];
  const words = wordsOf(name);
  const withoutModes = words.filter((word) => !MODES.has(word));
  const bare = withoutModes.filter((word) => !LEVELS.has(word));
  for (const id of [slug.toLowerCase(), name, ...listed, withoutModes.join("-"), bare.join("-")]) {
    const view = byId.get(id) ?? views.find((one) => wordsOf(one.id).join("-") === id);
    if (view !== undefined) return { view, quality: levelOf(words, view), is: "same" };
  }
  const similar = mostSimilar(bare, views);
  return similar === null ? null : { view: similar, quality: levelOf(words, similar), is: "similar" };
}

const wordsOf = (name: string) =>
  name
    .toLowerCase()
    .split(/[^a-z0-9]+|(?<=[a-z])(?=\d)/)
    .filter(Boolean);

function levelOf(words: readonly string[], view: ModelView): string | null {
  const values = view.fields.get("quality")?.values ?? [];
  // A level that is part of the model's own name is not one of its settings.
  const own = new Set(wordsOf(view.id));
  const named = words.filter((word) => !own.has(word)).map((word) => (values.includes(word) ? word : LEVELS.get(word)));
  return named.find((level) => level !== undefined && values.includes(level)) ?? null;
}

/** The model that shares most words with the slug; at least a third of all that both have. */
function mostSimilar(words: readonly string[], views: readonly ModelView[]): ModelView | null {
  const scored = views.map((view) => ({ view, score: likeness(words, wordsOf(view.id)) }));
  const [best] = scored.sort((a, b) => b.score - a.score || (a.view.id < b.view.id ? -1 : 1));
  return best !== undefined && best.score >= 1 / 3 ? best.view : null;
}

function likeness(a: readonly string[], b: readonly string[]): number {
  const isVersion = (word: string) => /^v?\d+$/.test(word);
  const shared = a.filter((word) => b.includes(word) && !isVersion(word)).length;
  const all = new Set([...a, ...b].filter((word) => !isVersion(word))).size;
  return all === 0 ? 0 : shared / all;
}
