import type { StepPhase } from "../../views/wire.ts";

/** The few tones that everything is coloured with. */
export type Tone = "idle" | "active" | "good" | "ask" | "bad" | "off";

const runTones: Readonly<Record<string, Tone>> = {
  planned: "idle",
  running: "active",
  paused: "ask",
  interrupted: "ask",
  succeeded: "good",
  partial: "ask",
  failed: "bad",
  cancelled: "off",
};

const phaseTones: Readonly<Record<StepPhase, Tone>> = {
  waiting: "idle",
  uploading: "active",
  pricing: "active",
  submitting: "active",
  queued: "active",
  rendering: "active",
  downloading: "active",
  asking: "active",
  working: "active",
  choosing: "active",
  planning: "active",
  approval: "ask",
  unresolved: "ask",
  succeeded: "good",
  partial: "ask",
  failed: "bad",
  skipped: "off",
  cancelled: "off",
};

const phaseWords: Partial<Readonly<Record<StepPhase, string>>> = {
  asking: "asking the model",
  approval: "needs your decision",
  succeeded: "done",
  unresolved: "outcome unknown",
};

export const phaseWord = (phase: StepPhase): string => phaseWords[phase] ?? phase;
export const runTone = (status: string): Tone => runTones[status] ?? "idle";
export const phaseTone = (phase: StepPhase): Tone => phaseTones[phase];

export function Dot({ tone }: { readonly tone: Tone }) {
  return <span class={`dot ${tone}`} aria-hidden="true" />;
}

export function Pill({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span class={`pill ${tone}`}>
      <Dot tone={tone} />
      {children}
    </span>
  );
}
