import type { DraftJson, DraftStep, LocalFunction } from "../plan/draft.ts";
import type { FailurePolicy, Plan, Problem } from "../plan/plan.ts";
import { draftJson } from "./draft-json.ts";
import { BuilderClosedError } from "./errors.ts";
import type { Build } from "./handle-value.ts";
import { stepNameProblem } from "./step-name.ts";

/** Writes down what a build says. Mistakes are written down too, so that all of them are found in one go. */
export interface Recorder {
  /** Identity of this build; its handles carry it. */
  readonly build: Build;
  /** What the steps of this part do when one fails, where they do not say. */
  readonly onFailure: FailurePolicy | null;
  /** Whether steps of this part that lead to nothing any more are left out, where they do not say. */
  readonly prune: boolean;
  /** How many parts are around this one. */
  readonly depth: number;
  /** Path of a step of this name. */
  path(name: unknown): string;
  add(step: DraftStep): void;
  report(problem: Problem): void;
  /** A value as JSON with references; `field` is its dotted path. */
  json(value: unknown, at: { readonly step: string | null; readonly field: string }): DraftJson;
  /** True for handles of this build, and of the builds around it. */
  knows(build: Build): boolean;
  /** Keeps code for a step. */
  bind(path: string, code: LocalFunction): void;
  /** Bounds what the steps under a path may cost together. */
  group(path: string, maxCostMicros: number): void;
  /** The same recording, with all names under `<name>/`. Takes the name itself, so that no other step has it. */
  part(name: unknown, options?: Partial<PartDefaults>): Recorder & { readonly prefix: string };
}

export interface Recording extends Recorder {
  readonly steps: readonly DraftStep[];
  readonly problems: readonly Problem[];
  readonly functions: ReadonlyMap<string, LocalFunction>;
  readonly groups: NonNullable<Plan["groups"]>;
  readonly parts: ReadonlyMap<string, number>;
  close(): void;
}

/** What the steps of a part do where they do not say otherwise. */
type PartDefaults = Pick<Recorder, "onFailure" | "prune">;

export interface RecordingOptions extends Partial<PartDefaults> {
  /** All names are under it: `shots/`. Default none. */
  readonly prefix?: string;
  /** The build whose handles may be used too. Default none. */
  readonly within?: Build | null;
}

export function startRecording(options: RecordingOptions = {}): Recording {
  const steps: DraftStep[] = [];
  const problems: Problem[] = [];
  const functions = new Map<string, LocalFunction>();
  const groups = new Map<string, { readonly maxCostMicros: number }>();
  const parts = new Map<string, number>();
  const names = new Set<string>();
  const build: Build = { within: options.within ?? null };
  let closed = false;
  const report = (problem: Problem) => void problems.push(problem);
  const knows = (other: Build) => {
    for (let one: Build | null = build; one !== null; one = one.within) if (one === other) return true;
    return false;
  };
  const take = (path: string, prefix: string) => {
    if (closed) throw new BuilderClosedError(path);
    const badName = stepNameProblem(path.slice(prefix.length));
    if (badName !== null) report({ ...badName, step: path });
    else if (names.has(path)) report(duplicate(path));
    names.add(path);
  };
  const recorder = (prefix: string, depth: number, { onFailure, prune }: PartDefaults): Recorder => ({
    build,
    onFailure,
    prune,
    depth,
    report,
    knows,
    path: (name) => prefix + String(name).normalize("NFC"),
    json: (value, at) => draftJson(value, { ...at, knows, report }),
    add(step) {
      take(step.path, prefix);
      steps.push(step);
    },
    bind: (path, code) => void functions.set(path, code),
    group: (path, maxCostMicros) => void groups.set(path, { maxCostMicros }),
    part(name, own = {}) {
      const path = prefix + String(name).normalize("NFC");
      take(path, prefix);
      parts.set(path, steps.length);
      const defaults = { onFailure: own.onFailure ?? onFailure, prune: own.prune ?? prune };
      return { ...recorder(`${path}/`, depth + 1, defaults), prefix: `${path}/` };
    },
  });
  return {
    ...recorder(options.prefix ?? "", 0, { onFailure: options.onFailure ?? null, prune: options.prune ?? true }),
    steps,
    problems,
    functions,
    parts,
    get groups() {
      return Object.fromEntries(groups);
    },
    close: () => {
      closed = true;
    },
  };
}

function duplicate(step: string): Problem {
  const message = `another step is named ${step} already; give each its own name, in a loop for example \`${step}-\${index}\``;
  return { code: "duplicate-step", step, field: null, message };
}
