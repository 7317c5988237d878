import type { JournalStore, Json, MediaStore, Pipeline, Showrunner } from "../../internal.ts";

export interface AgentPipeline {
  /** Unique. */
  readonly name: string;
  readonly pipeline: Pipeline;
  readonly source: { readonly file: string; readonly exportName: string };
}

/** A verdict on a waiting step. `value` replaces the value that is shown. */
export interface Decision {
  readonly decision: "approve" | "reject";
  /** From 1. */
  readonly pick?: number | undefined;
  readonly note?: string | undefined;
  readonly value?: Json | undefined;
}

/** What a person has allowed agents to do. */
export interface McpOptions {
  readonly show: Showrunner;
  readonly journal: JournalStore;
  readonly media: MediaStore;
  readonly pipelines: readonly AgentPipeline[];
  /** The only folder from which inputs can use files. */
  readonly filesDir: string;
  /**
   * Shared budget of the runs that agents start during the life of this server, micro-dollars; null: they may start none. `show`
   * has it as a cap on their tag, increased by `beforeMicros`.
   */
  readonly budgetMicros: number | null;
  /** What runs of agents had cost before this server started. Default 0. */
  readonly beforeMicros?: number | undefined;
  /** The most that one run may cost; null: its quote. */
  readonly runBudgetMicros: number | null;
  /** The most that one job without a quote may cost, a decimal of US dollars. */
  readonly maxUnquoted?: string | undefined;
  readonly allowApprove: boolean;
  /** Whether the agent's program can ask its user for decisions, and to exceed the limit per run. */
  readonly mayAsk: boolean;
  /** Writes a line for the person who started the server. */
  readonly log: (text: string) => void;
}
