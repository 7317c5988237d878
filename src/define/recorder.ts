import type { Problem } from "../plan/plan.ts";
import type { DraftJson, DraftStep } from "./draft.ts";
import { draftJson } from "./draft-json.ts";
import { BuilderClosedError } from "./errors.ts";
import { stepNameProblem } from "./step-name.ts";

/** Writes down what a build says. Mistakes are written down too, so that all of them are found in one go. */
export interface Recorder {
  /** Identity of this build; its handles carry it. */
  readonly build: object;
  add(step: DraftStep): void;
  report(problem: Problem): void;
  /** A value as JSON with references; `field` is its dotted path. */
  json(value: unknown, at: { readonly step: string | null; readonly field: string }): DraftJson;
}

export interface Recording extends Recorder {
  readonly steps: readonly DraftStep[];
  readonly problems: readonly Problem[];
  close(): void;
}

export function startRecording(): Recording {
  const steps: DraftStep[] = [];
  const problems: Problem[] = [];
  const names = new Set<string>();
  const build = {};
  let closed = false;
  const report = (problem: Problem) => void problems.push(problem);
  return {
    build,
    steps,
    problems,
    report,
    json: (value, at) => draftJson(value, { ...at, build, report }),
    add(step) {
      if (closed) throw new BuilderClosedError(step.path);
      const badName = stepNameProblem(step.path);
      if (badName !== null) report(badName);
      else if (names.has(step.path)) report(duplicate(step.path));
      names.add(step.path);
      steps.push(step);
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
