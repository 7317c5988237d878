import { type JobLimits, traitsOf } from "../../src/core/plan/index.ts";
import type { JobStep } from "../../src/core/plan/kinds/job.ts";
import type { TaskStep } from "../../src/core/plan/kinds/task.ts";
import type { Json, MediaKind, Plan, PlanStep } from "../../src/core/plan/plan.ts";

/** Random numbers that are the same for the same seed. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) | 0;
  }

  /** 0 to 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  of<T>(values: readonly T[]): T {
    return values[Math.floor(this.next() * values.length)]!;
  }

  /** A factor around 1; `spread` is the standard deviation of its logarithm. */
  factor(spread: number): number {
    return Math.exp(spread * Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next()));
  }
}

interface Model {
  readonly yields: MediaKind;
  readonly startMs: number;
  readonly msEach: number;
  readonly input: (chance: Chance) => Json;
}

const film = (chance: Chance) => ({
  duration_ms: chance.of([3000, 5000, 5000, 8000, 10_000, 15_000]),
  resolution: chance.of(["720p", "720p", "1080p"]),
  quality: chance.of(["standard", "pro"]),
});
const picture = (chance: Chance) => ({ num_outputs: chance.of([1, 1, 1, 2, 4]) });

const MODELS: Readonly<Record<string, Model>> = {
  sketch: { yields: "image", startMs: 3000, msEach: 3000, input: picture },
  painting: { yields: "image", startMs: 10_000, msEach: 8000, input: picture },
  clip: { yields: "video", startMs: 20_000, msEach: 6000, input: film },
  scene: { yields: "video", startMs: 45_000, msEach: 14_000, input: film },
  score: { yields: "audio", startMs: 25_000, msEach: 1, input: () => ({ duration_ms: 30_000 }) },
  speech: {
    ...{ yields: "audio", startMs: 2000, msEach: 25 },
    input: (chance) => ({ text: "x".repeat(chance.whole(20, 600)) }),
  },
};

/** How much work it is: seconds of film by its pixels, pictures, or characters. */
function amountOf(input: Json): number {
  const fields = input as {
    readonly duration_ms?: number;
    readonly resolution?: string;
    readonly num_outputs?: number;
    readonly text?: string;
  };
  const { duration_ms: ms = 1000, resolution, num_outputs: outputs = 1, text } = fields;
  const megapixels = resolution === undefined ? 1 : (Number.parseInt(resolution, 10) ** 2 * 16) / 9 / 1e6;
  return (ms / 1000) * megapixels * outputs * (text?.length ?? 1);
}

/** What the models of one service really take, which no scheduler knows. */
export class HiddenDurations {
  readonly #chance: Chance;
  readonly #models = new Map<string, { readonly factor: number; readonly noise: number; readonly pro: number }>();
  #pace = new Map<string, number>();

  constructor(chance: Chance) {
    this.#chance = chance;
    for (const model of Object.keys(MODELS)) {
      const noise = 0.05 + 0.25 * chance.next();
      this.#models.set(model, { factor: chance.factor(0.6), noise, pro: 1 + chance.next() });
    }
    this.nextDay();
  }

  /** All of a model is slower or faster than it was. */
  nextDay(): void {
    this.#pace = new Map([...this.#models.keys()].map((model) => [model, this.#chance.factor(0.25)]));
  }

  draw(step: PlanStep): number {
    const odd = this.#chance.next() < 0.01 ? 3 : 1;
    if (!("model" in step)) return Math.round(traitsOf(step).typicalMs * odd * this.#chance.factor(0.3));
    const { startMs, msEach } = MODELS[step.model]!;
    const { factor, noise, pro } = this.#models.get(step.model)!;
    const amount = amountOf(step.input);
    const tier = JSON.stringify(step.input).includes('"pro"') ? pro : 1;
    const ms = (startMs + msEach * amount) * factor * tier * this.#pace.get(step.model)!;
    return Math.max(1, Math.round(ms * odd * this.#chance.factor(noise)));
  }
}

/** A plan that is being written down. */
class Sketch {
  readonly steps: PlanStep[] = [];
  readonly chance: Chance;

  constructor(chance: Chance) {
    this.chance = chance;
  }

  job(model: string, needs: readonly string[] = []): string {
    const input = MODELS[model]!.input(this.chance);
    const base = this.#base(model, needs);
    this.steps.push({
      ...base,
      kind: "job",
      model,
      input,
      yields: MODELS[model]!.yields,
      outputs: 1,
    } satisfies JobStep);
    return base.path;
  }

  cut(needs: readonly string[]): string {
    const base = this.#base("cut", needs);
    const yields = { yields: "video", files: [{ name: "film", kind: "video" }] } as const;
    this.steps.push({ ...base, kind: "task", input: {}, version: "1", ...yields } satisfies TaskStep);
    return base.path;
  }

  any(needs: readonly string[] = []): string {
    return this.job(this.chance.of(Object.keys(MODELS)), needs);
  }

  times<T>(least: number, most: number, make: (index: number) => T): T[] {
    return Array.from({ length: this.chance.whole(least, most) }, (_, index) => make(index));
  }

  #base(name: string, needs: readonly string[]) {
    const path = `${name}-${this.steps.length}`;
    const policy = { attempts: 1, maxCostMicros: null, keep: true };
    return { path, needs: [...new Set(needs)].sort(), fingerprint: path, policy };
  }
}

/** Shapes that runs have, and shapes that nobody thought of. */
export const FAMILIES: Readonly<Record<string, (sketch: Sketch) => void>> = {
  "fan-out": (sketch) => {
    const story = sketch.job("speech");
    const ends = sketch.times(10, 80, () => {
      const first = sketch.job(sketch.chance.of(["sketch", "painting"]), [story]);
      return sketch.chance.next() < 0.7 ? sketch.job(sketch.chance.of(["clip", "scene"]), [first]) : first;
    });
    sketch.cut(ends);
  },
  diamonds: (sketch) => {
    let last = sketch.any();
    sketch.times(3, 10, () => {
      last = sketch.any(sketch.times(2, 8, () => sketch.any([last])));
    });
  },
  montage: (sketch) => {
    const story = sketch.job("speech");
    const shots = sketch.times(5, 40, () => {
      const frame = sketch.job(sketch.chance.of(["sketch", "painting"]), [story]);
      const shot = sketch.job(sketch.chance.of(["clip", "scene"]), [frame]);
      return sketch.chance.next() < 0.6 ? sketch.cut([shot, sketch.job("speech", [story])]) : shot;
    });
    sketch.cut([...shots, sketch.job("score", [story])]);
  },
  chains: (sketch) => {
    const ends = sketch.times(4, 20, () => {
      let last = sketch.any();
      sketch.times(0, 11, () => {
        last = sketch.any([last]);
      });
      return last;
    });
    if (sketch.chance.next() < 0.5) sketch.cut(ends);
  },
  layers: (sketch) => {
    let before: readonly string[] = [];
    sketch.times(3, 12, () => {
      const above = before;
      before = sketch.times(2, 25, () =>
        sketch.any(above.length === 0 ? [] : sketch.times(1, 3, () => sketch.chance.of(above))),
      );
    });
  },
  random: (sketch) => {
    const paths: string[] = [];
    sketch.times(30, 250, () => {
      const recent = paths.slice(-40);
      paths.push(sketch.any(recent.length === 0 ? [] : sketch.times(0, 3, () => sketch.chance.of(recent))));
    });
  },
  "crowded stages": (sketch) => {
    const stages = sketch.times(2, 4, () => sketch.chance.of(Object.keys(MODELS)));
    sketch.times(5, 40, () => {
      const own = sketch.chance.next() < 0.5 ? stages : stages.slice(1);
      own.reduce<readonly string[]>((needs, model) => [sketch.job(model, needs)], []);
    });
  },
};

export function planOf(family: string, chance: Chance): Plan {
  const sketch = new Sketch(chance);
  FAMILIES[family]!(sketch);
  return { version: 1, pipeline: family, steps: sketch.steps, returns: {} };
}

/** How many jobs may run at once, in all and of some models. */
export function limitsOf(family: string, chance: Chance): JobLimits {
  const isCrowded = family === "crowded stages";
  const limited = Object.keys(MODELS).filter(() => isCrowded || chance.next() < 0.5);
  const perModel = Object.fromEntries(limited.map((model) => [model, chance.whole(1, isCrowded ? 3 : 8)]));
  return { total: chance.whole(4, 32), perModel, perModality: {} };
}
