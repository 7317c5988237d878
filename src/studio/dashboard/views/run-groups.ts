import type { RunView, StepView } from "../../../core/view/index.ts";
import { kindOfType } from "../../served/index.ts";
import { groupsOf, LEAST_MEMBERS, type StepCounts, type StepGroup, type StepPhase } from "./groups.ts";

/** Maximum number of steps that a page shows individually. The steps of larger runs are grouped. */
export const MOST_WHOLE = 2000;
const MOST_NOTABLE = 300;
const MOST_PICTURES = 4;

interface Tally {
  readonly key: string;
  readonly count: number;
  readonly phases: Map<StepPhase, number>;
  readonly needs: readonly string[];
  readonly first: readonly string[];
  readonly pictures: string[];
}

const ended: ReadonlySet<StepPhase> = new Set(["succeeded", "partial", "skipped", "cancelled", "waiting"]);
const countedAs: Partial<Readonly<Record<StepPhase | "running", keyof StepCounts>>> = {
  succeeded: "done",
  partial: "done",
  failed: "failed",
  skipped: "skipped",
  cancelled: "skipped",
  waiting: "waiting",
};

export function countSteps(phases: Iterable<readonly [StepPhase | "running", number]>): StepCounts {
  const counts = { total: 0, done: 0, active: 0, waiting: 0, failed: 0, skipped: 0 };
  for (const [phase, number] of phases) {
    counts.total += number;
    counts[countedAs[phase] ?? "active"] += number;
  }
  return counts;
}

export class RunGroups {
  readonly #groups = new Map<string, Tally>();
  readonly #groupOf = new Map<string, Tally>();
  readonly #phases = new Map<string, StepPhase>();

  constructor({ steps }: RunView) {
    for (const { key, members, needs } of groupsOf(steps, true, ({ plan }) => plan.needs)) {
      const tally: Tally = {
        key,
        count: members.length,
        phases: new Map(),
        pictures: [],
        needs,
        first: members.slice(0, LEAST_MEMBERS).map(({ path }) => path),
      };
      this.#groups.set(key, tally);
      for (const step of members) {
        this.#groupOf.set(step.path, tally);
        this.update(step);
      }
    }
  }

  update(step: StepView): void {
    const { path, phase } = step;
    const tally = this.#groupOf.get(path);
    if (tally === undefined) return;
    const before = this.#phases.get(path);
    if (before !== undefined) tally.phases.set(before, tally.phases.get(before)! - 1);
    tally.phases.set(phase, (tally.phases.get(phase) ?? 0) + 1);
    this.#phases.set(path, phase);
    const isPicture = step.outputs.some(
      ({ copy }) => copy !== null && /image|video/.test(kindOfType(copy.contentType)),
    );
    if (!isPicture || tally.pictures.includes(path)) return;
    tally.pictures.push(path);
    if (tally.pictures.length > MOST_PICTURES) tally.pictures.shift();
  }

  views(): readonly StepGroup[] {
    return [...this.#groups.values()].map(({ key, count, phases, needs, first, pictures }) => {
      return {
        key,
        count,
        needs,
        shown: [...first, ...pictures],
        phases: Object.fromEntries([...phases].filter(([, number]) => number > 0)),
      };
    });
  }

  shown(): ReadonlySet<string> {
    const notable: string[] = [];
    for (const [path, phase] of this.#phases) {
      if (!ended.has(phase) && notable.length < MOST_NOTABLE) notable.push(path);
    }
    return new Set([
      ...[...this.#groups.values()].flatMap(({ first, pictures }) => [...first, ...pictures]),
      ...notable,
    ]);
  }

  isIn(path: string, key: string): boolean {
    return this.#groupOf.get(path)?.key === key;
  }

  counts(): StepCounts {
    return countSteps([...this.#groups.values()].flatMap(({ phases }) => [...phases]));
  }
}
