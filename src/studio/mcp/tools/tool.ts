import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { cleanText } from "../../../core/kit/clean-text.ts";
import { documentSchemas } from "../../../core/view/index.ts";
import type { Person } from "../person.ts";
import type { AgentSession } from "../session.ts";

export interface Call {
  readonly session: AgentSession;
  readonly signal: AbortSignal;
  readonly progress: (done: number, total: number, message: string) => void;
  readonly person: Person | null;
}

/** Result of a tool. Models get the text and images, and programs get the structured data. */
export type Outcome = Pick<CallToolResult, "content" | "structuredContent">;

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  readonly isReadOnly: boolean;
  /** True if MCP clients can call the tool as a task, because it starts a run. */
  readonly takesTask?: true;
  run(input: unknown, call: Call): Promise<Outcome>;
}

export function tool<S extends z.ZodRawShape>(
  given: Omit<Tool, "input" | "run"> & {
    readonly input: S;
    run(input: z.output<z.ZodObject<S>>, call: Call): Promise<Outcome>;
  },
): Tool {
  const input = z.strictObject(given.input);
  // The server has checked the input against this schema.
  return { ...given, input, run: given.run as Tool["run"] };
}

export const runId = z.string().min(1).max(120).describe("Run id, as returned by `run_pipeline` or `list_runs`");

/** Maximum numbers of items in a list, tried in this order until the result is short enough. */
const MOST_ITEMS = [200, 100, 50, 20, 10, 5, 2, 1];
const MOST_CHARACTERS = 60_000;
const LONGEST_TEXT = 2_000;
const LEAST_FIELDS = 20;

/**
 * Returns a JSON document as a result. Cleans text from external sources, and shortens lists until the result is short
 * enough.
 */
export function json(
  value: Readonly<Record<string, unknown>>,
): Outcome & { readonly content: [{ type: "text"; text: string }] } {
  for (const [at, items] of MOST_ITEMS.entries()) {
    const structuredContent = bounded(value, { items, characters: LONGEST_TEXT >> at }) as Record<string, unknown>;
    const text = JSON.stringify(structuredContent, null, 1);
    if (text.length <= MOST_CHARACTERS || at === MOST_ITEMS.length - 1) {
      return { content: [{ type: "text", text }], structuredContent };
    }
  }
  throw new Error("no list of lengths");
}

interface Bounds {
  readonly items: number;
  readonly characters: number;
}

function bounded(value: unknown, bounds: Bounds): unknown {
  if (typeof value === "string") return cleanText(value, bounds.characters);
  if (Array.isArray(value)) {
    const items = value.slice(0, bounds.items).map((item) => bounded(item, bounds));
    return value.length > bounds.items ? [...items, `… and ${value.length - bounds.items} more`] : items;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, Math.max(bounds.items, LEAST_FIELDS))
      .map(([name, item]) => [cleanText(name, 200), bounded(item, bounds)]),
  );
}

const { runDocument, callerDocument } = documentSchemas;

/**
 * The document that describes a run to agents: the document for callers, plus the run's budget and folder, and the
 * model and value of each step.
 */
export const agentDocument = callerDocument.extend({
  ...runDocument.pick({ budget: true, out_dir: true }).shape,
  steps: z.array(
    callerDocument.shape.steps
      .unwrap()
      .element.extend(runDocument.shape.steps.unwrap().element.pick({ model: true, value: true }).shape),
  ),
});
export type AgentDocument = z.output<typeof agentDocument>;
