import { type ModelName, parseModelName, versionSimilarity, wordsOfLevel } from "../../core/families/index.ts";
import type { Catalog } from "../../core/plan/index.ts";
import { keepsFilm, type Need, suits, TYPE_FACTS } from "./need.ts";
import { type ModelView, viewOf } from "./view.ts";

export interface Choice {
  readonly view: ModelView;
  readonly quality: string | null;
  readonly resolution: string | null;
  /**
   * How the model was chosen: by the given map, by an exact or similar name, as the only one that fits (`only`), or as
   * the best fit (`shape`). The user must confirm `similar` and `shape`.
   */
  readonly by: "mapped" | "exact" | "similar" | "only" | "shape";
  readonly why: string | null;
  readonly candidates: readonly string[];
}

export class ModelChooser {
  readonly #views: readonly ModelView[];
  readonly #byId: ReadonlyMap<string, ModelView>;
  readonly #map: ReadonlyMap<string, string>;
  readonly #known = new Map<string, Choice | null>();

  constructor(catalog: Catalog, map: ReadonlyMap<string, string>) {
    this.#views = catalog
      .models()
      .map(viewOf)
      .filter((view) => view !== null);
    this.#byId = new Map(this.#views.map((view) => [view.id, view]));
    this.#map = map;
  }

  /** Chooses a model for the first of `needs` that some model can meet. */
  choose(needs: readonly Need[], named: string | null): Choice | null {
    const key = JSON.stringify([needs, named]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const choice = this.#firstOf(needs, named);
    this.#known.set(key, choice);
    return choice;
  }

  #firstOf(needs: readonly Need[], named: string | null): Choice | null {
    for (const need of needs) {
      const choice = this.#choose(need, named, true);
      if (choice !== null) return choice;
    }
    const [whole] = needs;
    return whole === undefined ? null : this.#choose(whole, named, false);
  }

  #choose(need: Need, named: string | null, mustKeepFilm: boolean): Choice | null {
    const { isUncertain } = TYPE_FACTS[need.type];
    const candidates = this.#candidates(need);
    const ids = candidates.map(({ id }) => id);
    const first = (view: ModelView) => [view.id, ...ids.filter((id) => id !== view.id)];
    const mapped = named === null ? undefined : this.#byId.get(this.#map.get(named) ?? "");
    const slug = named === null || isUuid(named) ? null : named;
    if (mapped !== undefined && isOfType(mapped, need)) {
      return { view: mapped, ...namedLevel(slug, mapped), by: "mapped", why: null, candidates: first(mapped) };
    }
    const ofType = this.#views.filter((view) => isOfType(view, need));
    const { match, otherVersions } = findBySlug(slug, ofType);
    // An exact match may lack a field; a similar match may not.
    const isUsable = ({ view, confidence }: SlugMatch) =>
      candidates.includes(view) || (confidence === "exact" && (!mustKeepFilm || keepsFilm(view, need)));
    const used = match === null || isUsable(match) ? match : findBySlug(slug, candidates).match;
    if (used !== null) {
      const { view, why } = used;
      const isSure = used.confidence === "exact" && (!isUncertain || candidates.includes(view));
      const by = isSure ? "exact" : "similar";
      return { view, ...namedLevel(slug, view), by, why, candidates: first(view) };
    }
    const [best] = candidates;
    if (best === undefined) return null;
    const isOnly = candidates.length === 1 && named === null && !need.isLoose && !isUncertain;
    const why = otherVersions.length === 0 ? null : `only other versions exist: ${otherVersions.join(", ")}`;
    return { view: best, ...namedLevel(slug, best), by: isOnly ? "only" : "shape", why, candidates: ids };
  }

  #candidates(need: Need): readonly ModelView[] {
    const found = this.#views.flatMap((view) => {
      const suitability = suits(view, need);
      return suitability === null ? [] : [{ view, ...suitability }];
    });
    // A model with required fields that the body lacks is a candidate only if there is no better candidate.
    const least = Math.min(...found.map(({ unmet }) => unmet));
    return found
      .filter(({ unmet }) => unmet === least)
      .sort((a, b) => b.met - a.met)
      .map(({ view }) => view);
  }
}

function isOfType(view: ModelView, need: Need): boolean {
  return view.yields === TYPE_FACTS[need.type].yields || suits(view, need) !== null;
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text);
}

interface SlugMatch {
  readonly view: ModelView;
  readonly quality: string | null;
  readonly confidence: "exact" | "similar";
  readonly why: string;
}

interface SlugSearch {
  readonly match: SlugMatch | null;
  /** Other versions of the model. They are offered as candidates, but never chosen automatically. */
  readonly otherVersions: readonly string[];
}

/** Finds the model that a v2 name refers to. Never matches a different version of that model. */
export function findBySlug(slug: string | null, views: readonly ModelView[]): SlugSearch {
  if (slug === null) return { match: null, otherVersions: [] };
  const requested = parseModelName(slug);
  const compared = views.map((view) => compare(slug, requested, view)).filter((one) => one !== null);
  const [best] = compared.sort((a, b) => b.score - a.score || (a.match.view.id < b.match.view.id ? -1 : 1));
  const otherVersions = views.filter((view) => isOtherVersion(requested, parseModelName(view.id))).map(({ id }) => id);
  return { match: best?.match ?? mostSimilar(requested, views), otherVersions };
}

function compare(
  slug: string,
  requested: ModelName,
  view: ModelView,
): { readonly match: SlugMatch; readonly score: number } | null {
  const own = parseModelName(view.id);
  const name = slug.slice(slug.lastIndexOf("/") + 1).toLowerCase();
  if (view.id.toLowerCase() === name || view.id.toLowerCase() === slug.toLowerCase()) {
    return { match: { view, quality: null, confidence: "exact", why: "the same id" }, score: 1000 };
  }
  if (own.family.join() !== requested.family.join()) return null;
  if (isOtherVersion(requested, own) && requested.version.length > 0) return null;
  if (own.mode !== null && requested.mode !== null && own.mode !== requested.mode) return null;
  const level = levelOf(requested, own, view);
  const doubts = doubtsOf(requested, own, level);
  const agreed = describe({ ...own, settings: [] });
  const why = doubts.length === 0 ? `${agreed}${level.text}` : `${agreed}; but ${doubts.join(", and ")}`;
  const confidence = doubts.length === 0 ? "exact" : "similar";
  return { match: { view, quality: level.quality, confidence, why }, score: scoreOf(requested, own, doubts.length) };
}

function namedLevel(slug: string | null, view: ModelView): Pick<Choice, "quality" | "resolution"> {
  if (slug === null) return { quality: null, resolution: null };
  const { quality, resolution } = levelOf(parseModelName(slug), parseModelName(view.id), view);
  return { quality, resolution };
}

interface Level {
  readonly quality: string | null;
  readonly resolution: string | null;
  readonly unmatched: readonly string[];
  readonly text: string;
}

function levelOf(requested: ModelName, own: ModelName, view: ModelView): Level {
  const qualities = (view.fields.get("quality")?.values ?? []).map(String);
  const resolutions = (view.fields.get("resolution")?.values ?? []).map(String);
  const words = [...requested.tiers.filter((tier) => !own.tiers.includes(tier)), ...requested.settings];
  const quality = levelNamed(qualities, words, requested);
  const inQuality = quality === null ? [] : wordsOfLevel(quality);
  const others = words.filter((word) => !inQuality.includes(word) && !own.settings.includes(word));
  const resolution = resolutions.find((value) => others.includes(value.toLowerCase())) ?? null;
  const isMatched = (word: string) => {
    if (word === resolution?.toLowerCase()) return true;
    // A model without a tier is the standard one, unless its levels have other names.
    return word === "standard" && qualities.length === 0 && own.tiers.length === 0;
  };
  const unmatched = others.filter((word) => !isMatched(word));
  return { quality, resolution, unmatched, text: quality === null ? "" : `, ${quality} as its quality` };
}

/**
 * Returns the quality level that shares the most words with `words`; null if none shares any. Ignores levels with words
 * that the requested model's name lacks.
 */
function levelNamed(
  qualities: readonly string[],
  words: readonly string[],
  { tiers, settings }: ModelName,
): string | null {
  const all = [...tiers, ...settings];
  const count = (quality: string) => wordsOfLevel(quality).filter((word) => words.includes(word)).length;
  const named = qualities.filter(
    (quality) => count(quality) > 0 && wordsOfLevel(quality).every((word) => all.includes(word)),
  );
  return named.toSorted((a, b) => count(b) - count(a))[0] ?? null;
}

function doubtsOf(requested: ModelName, own: ModelName, level: Level): readonly string[] {
  const lacking = own.tiers.filter((tier) => !requested.tiers.includes(tier));
  return [
    ...level.unmatched.map((word) => `the model has no ${word}`),
    ...lacking.map((word) => `the slug does not contain ${word}`),
    ...(own.version.length > 0 && requested.version.length === 0 ? [`the slug has no version`] : []),
    ...(own.version.length === 0 && requested.version.length > 0 ? [`the model has no version`] : []),
    ...(own.mode !== null && requested.mode === null ? [`the slug does not contain ${own.mode}`] : []),
  ];
}

function scoreOf(requested: ModelName, own: ModelName, doubts: number): number {
  const sameMode = own.mode !== null && own.mode === requested.mode ? 1 : 0;
  return (
    100 -
    20 * doubts +
    4 * versionSimilarity(requested, own) +
    2 * own.tiers.filter((tier) => requested.tiers.includes(tier)).length +
    sameMode
  );
}

function isOtherVersion(requested: ModelName, own: ModelName): boolean {
  const isSameFamily = own.family.join() === requested.family.join();
  return isSameFamily && own.version.length > 0 && versionSimilarity(own, requested) === 0;
}

function describe({ family, version, tiers, mode }: ModelName): string {
  return [
    family.join(" "),
    ...(version.length === 0 ? [] : [`version ${version.join("")}`]),
    ...tiers,
    ...(mode === null ? [] : [mode]),
  ]
    .filter(Boolean)
    .join(", ");
}

function mostSimilar(requested: ModelName, views: readonly ModelView[]): SlugMatch | null {
  const [best] = views
    .map((view) => ({ view, own: parseModelName(view.id) }))
    .filter(({ own }) => versionSimilarity(own, requested) > 0)
    .map(({ view, own }) => ({ view, own, score: similarity(requested.family, own.family) }))
    .sort((a, b) => b.score - a.score || (a.view.id < b.view.id ? -1 : 1));
  if (best === undefined || best.score < 1 / 3) return null;
  const why = `${best.own.family.join(" ")} shares words with ${requested.family.join(" ")}, but is not an exact match`;
  return { view: best.view, quality: null, confidence: "similar", why };
}

function similarity(a: readonly string[], b: readonly string[]): number {
  const all = new Set([...a, ...b]).size;
  return all === 0 ? 0 : a.filter((word) => b.includes(word)).length / all;
}
