import type { JournalStore, Json, Pipeline, Showrunner } from "../../index.ts";

export interface AgentPipeline {
  readonly name: string;
  readonly pipeline: Pipeline;
  readonly source: { readonly file: string; readonly exportName: string };
}

/** `value` replaces the value shown. */
export interface Decision {
  readonly decision: "approve" | "reject";
  /** Number of the chosen result, starting at 1. */
  readonly pick?: number | undefined;
  readonly note?: string | undefined;
  readonly value?: Json | undefined;
}

export interface McpOptions {
  readonly show: Showrunner;
  readonly journal: JournalStore;
  readonly pipelines: readonly AgentPipeline[];
  /** The only folder from which inputs may use files. */
  readonly filesDir: string;
  /** Budget of all agent runs together. If null, agents cannot start runs. */
  readonly budgetMicros: number | null;
  /** Cost of all agent runs before this server started. */
  readonly beforeMicros?: number | undefined;
  /** If null, each run's quoted price is its maximum. */
  readonly runBudgetMicros: number | null;
  /** Maximum cost of a job whose price is unknown in advance, in US dollars. */
  readonly maxUnquoted?: string | undefined;
  readonly allowApprove: boolean;
  /** Whether to ask the agent's user for decisions and higher costs. */
  readonly mayAsk: boolean;
  readonly log: (text: string) => void;
}
