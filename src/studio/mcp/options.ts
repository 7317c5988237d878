import type { JournalStore, Json, MediaStore, Pipeline, Showrunner } from "../../internal.ts";

export interface AgentPipeline {
  /** Unique name of the pipeline. */
  readonly name: string;
  readonly pipeline: Pipeline;
  readonly source: { readonly file: string; readonly exportName: string };
}

/** A decision on a waiting step. `value` replaces the value shown. */
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
  readonly media: MediaStore;
  readonly pipelines: readonly AgentPipeline[];
  /** The only folder from which inputs may use files. */
  readonly filesDir: string;
  /**
   * Budget of all runs that agents start while this server runs, in micro-dollars. If null, agents cannot start runs.
   */
  readonly budgetMicros: number | null;
  /** Cost of all agent runs before this server started, in micro-dollars. Default: 0. */
  readonly beforeMicros?: number | undefined;
  /** Maximum cost of one run, in micro-dollars. If null, the run's quote is the maximum. */
  readonly runBudgetMicros: number | null;
  /** Maximum cost of one job without a quote, in US dollars as a decimal string. */
  readonly maxUnquoted?: string | undefined;
  readonly allowApprove: boolean;
  /** Whether the server may ask the agent's user for decisions, and for agreement to higher costs. */
  readonly mayAsk: boolean;
  readonly log: (text: string) => void;
}
