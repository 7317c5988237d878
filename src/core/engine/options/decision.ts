import type { Chosen } from "../../journal/events.ts";
import type { RunsQuery } from "../../journal/search.ts";
import type { RunRow } from "../../journal/store.ts";
import type { Json } from "../../plan/plan.ts";
import type { OpenDecision } from "../../run/decisions.ts";

export interface ApproveDecision {
  /**
   * Which one, where the step asks for a choice: its position among those shown, from 0 (people count from 1: the command
   * line, the dashboard), or the step that produced it, such as `look/2` of the takes `look`.
   */
  readonly pick?: number | string | undefined;
  /** Why, for whoever reads the run later. */
  readonly note?: string | undefined;
  /**
   * What is approved in place of the value that the step shows, for all that uses it: a text, or JSON that meets the schema of the
   * chat that made it. What a task made keeps its type. Default: what it shows.
   */
  readonly value?: Json | undefined;
  /** Who decides, where it is somebody whom your program knows or asked for a name. Default: not said. */
  readonly by?: Decider | undefined;
}

export type RejectDecision = Pick<ApproveDecision, "note" | "by">;

/** What somebody says of what waits for a decision. */
export interface NewComment {
  /** At most 2,000 characters are kept. */
  readonly text: string;
  /** Of what it is said, as step and number of the output. Default: of all that is shown. */
  readonly take?: Chosen | null | undefined;
  /** Where in its video or sound. Default: nowhere in particular. */
  readonly timeMs?: number | null | undefined;
  /** Default: not said. */
  readonly by?: Decider | undefined;
}

/** Who decides on a step. */
export interface Decider {
  /** At most 100 characters are kept. */
  readonly name: string;
  /** Whether your program knows that the name is theirs. Default false. */
  readonly verified?: boolean | undefined;
  /** Id of the review link that they came by. */
  readonly link?: string | undefined;
}

/** Which runs' decisions are meant. */
export interface WaitingQuery extends RunsQuery {
  readonly pipeline?: string | undefined;
}

/** A decision that waits for a person, with its run. */
export interface WaitingDecision extends OpenDecision, Pick<RunRow, "runId" | "title" | "pipeline" | "tags"> {}
