import type { Catalog } from "../../core/plan/index.ts";
import { keepsFilm, type Need, suits, TYPE_FACTS } from "./need.ts";
import { findBySlug, type SlugMatch, type SlugSearch } from "./slug.ts";
import { type ModelView, viewOf } from "./view.ts";

/** The v3 model for a body, and the confidence of the match. */
export interface Choice {
  readonly view: ModelView;
  readonly quality: string | null;
  /** `mapped`: by the caller; `exact`: by the slug; `only`: the only candidate; the others must be confirmed. */
  readonly by: "mapped" | "exact" | "similar" | "only" | "shape";
  /** Why it was chosen, part by part of the slug; null without a comparison. */
  readonly why: string | null;
  /** Ids of all candidates, the chosen one first. */
  readonly candidates: readonly string[];
}

const NO_MATCH: SlugSearch = { match: null, otherVersions: [] };

/** Chooses models; created once per catalog. */
export class ModelChooser {
  readonly #views: readonly ModelView[];
  readonly #byId: ReadonlyMap<string, ModelView>;
  readonly #map: ReadonlyMap<string, string>;
  readonly #known = new Map<string, Choice | null>();

  constructor(catalog: Catalog, map: ReadonlyMap<string, string>) {
    this.#views = catalog
      .models()
      .map(viewOf)
      .filter((view) => view !== null)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#byId = new Map(this.#views.map((view) => [view.id, view]));
    this.#map = map;
  }

  /**
   * For the first of the needs that a model meets. `named` is the slug or id in the body; null when it has none. The model of
   * an exact slug that lacks the film of the body is chosen only where no other takes it.
   */
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
    const candidates = this.#candidates(need);
    const ids = candidates.map(({ id }) => id);
    const first = (view: ModelView) => [view.id, ...ids.filter((id) => id !== view.id)];
    const mapped = named === null ? undefined : this.#byId.get(this.#map.get(named) ?? "");
    if (mapped !== undefined && isOfType(mapped, need)) {
      return { view: mapped, quality: null, by: "mapped", why: null, candidates: first(mapped) };
    }
    const slug = named === null || isUuid(named) ? null : named;
    const ofType = this.#views.filter((view) => isOfType(view, need));
    const { match, otherVersions } = slug === null ? NO_MATCH : findBySlug(slug, ofType);
    // An exact match is used even when the model lacks a field; a similar one is not.
    const isUsable = ({ view, confidence }: SlugMatch) =>
      candidates.includes(view) || (confidence === "exact" && (!mustKeepFilm || keepsFilm(view, need)));
    const used = match === null || isUsable(match) ? match : findBySlug(slug ?? "", candidates).match;
    if (used !== null) {
      const { view, quality, why } = used;
      const isSure = used.confidence === "exact" && (TYPE_FACTS[need.type].isCertain || candidates.includes(view));
      return { view, quality, by: isSure ? "exact" : "similar", why, candidates: first(view) };
    }
    const [best] = candidates;
    if (best === undefined) return null;
    const isOnly = candidates.length === 1 && named === null && !need.isLoose && TYPE_FACTS[need.type].isCertain;
    const why = otherVersions.length === 0 ? null : `only other versions are there: ${otherVersions.join(", ")}`;
    return { view: best, quality: null, by: isOnly ? "only" : "shape", why, candidates: ids };
  }

  #candidates(need: Need): readonly ModelView[] {
    const found = this.#views.flatMap((view) => {
      const suitability = suits(view, need);
      return suitability === null ? [] : [{ view, ...suitability }];
    });
    // A model with required fields that the body lacks is a candidate only where there is no better one.
    const least = Math.min(...found.map(({ unmet }) => unmet));
    return found
      .filter(({ unmet }) => unmet === least)
      .sort((a, b) => b.met - a.met || (a.view.id < b.view.id ? -1 : 1))
      .map(({ view }) => view);
  }
}

function isOfType(view: ModelView, need: Need): boolean {
  const { yields } = TYPE_FACTS[need.type];
  return view.yields === yields || suits(view, need) !== null;
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text);
}
