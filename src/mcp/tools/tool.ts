import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { cleanText } from "../../clean-text.ts";
import type { AgentSession } from "../session.ts";

/** What a call of a tool brings along. */
export interface Call {
  readonly session: AgentSession;
  /** Aborted when the caller cancels or goes away. */
  readonly signal: AbortSignal;
  /** Tells the caller how far it is, where it asked for that. */
  readonly progress: (done: number, total: number, message: string) => void;
}

/** One tool: what agents read of it, its input, and what it does. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  /** Changes nothing and costs nothing. */
  readonly isReadOnly: boolean;
  run(input: unknown, call: Call): Promise<CallToolResult["content"]>;
}

/** A tool whose input is checked by its schema before `run` sees it. */
export function tool<S extends z.ZodRawShape>(
  given: Omit<Tool, "input" | "run"> & {
    readonly input: S;
    run(input: z.output<z.ZodObject<S>>, call: Call): Promise<CallToolResult["content"]>;
  },
): Tool {
  const input = z.strictObject(given.input);
  // Checked by the server against this very schema.
  return { ...given, input, run: given.run as Tool["run"] };
}

export const runId = z.string().min(1).max(120).describe("Id of the run, as `run_pipeline` or `list_runs` gave it");

const MOST_ITEMS = 200;
const MOST_CHARACTERS = 60_000;

/** An answer as JSON text: texts of others cleaned, long lists cut, all of it of bounded length. */
export function json(value: unknown): CallToolResult["content"] {
  const text = JSON.stringify(bounded(value), null, 1);
  const shown =
    text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}\n… cut: the answer is longer`;
  return [{ type: "text", text: shown }];
}

function bounded(value: unknown): unknown {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) {
    const items = value.slice(0, MOST_ITEMS).map(bounded);
    return value.length > MOST_ITEMS ? [...items, `… and ${value.length - MOST_ITEMS} more`] : items;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MOST_ITEMS)
      .map(([name, item]) => [cleanText(name, 200), bounded(item)]),
  );
}
