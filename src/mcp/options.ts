import type { JournalStore, MediaStore, Pipeline, Showrunner } from "../index.ts";

/** A pipeline that agents may plan and, under a budget, run. */
export interface AgentPipeline {
  /** Unique. */
  readonly name: string;
  readonly pipeline: Pipeline;
  readonly source: { readonly file: string; readonly exportName: string };
}

/** What a person has allowed agents to do. */
export interface McpOptions {
  readonly show: Showrunner;
  readonly journal: JournalStore;
  readonly media: MediaStore;
  readonly pipelines: readonly AgentPipeline[];
  /** The folder that files named by an input must lie in. */
  readonly filesDir: string;
  /** The most that runs may cost that agents start while this server runs, micro-dollars; null: none may be started. */
  readonly budgetMicros: number | null;
  /** The most that one of them may cost; null: its quote. */
  readonly runBudgetMicros: number | null;
  /** The most that one job without a quote may cost, a decimal of US dollars. */
  readonly maxUnquoted?: string | undefined;
  readonly allowApprove: boolean;
  /** What the person types who started the server: `showrunner` or `npx showrunner`. */
  readonly launcher: string;
  /** A line for the person who started the server. */
  readonly log: (text: string) => void;
}
