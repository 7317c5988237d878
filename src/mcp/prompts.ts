import { ErrorCode, type GetPromptResult, McpError } from "@modelcontextprotocol/sdk/types.js";

/** Conversations to begin with. */
export const prompts = [
  {
    name: "make",
    title: "Make media with a pipeline",
    description: "Choose a pipeline, price it, ask, run it and show the result.",
    arguments: [{ name: "wish", description: "What is to be made, in your words", required: true }],
  },
];

const LONGEST_WISH = 4_000;

export function getPrompt(name: string, given: Readonly<Record<string, string>>): GetPromptResult {
  const wish = given["wish"]?.trim() ?? "";
  if (name !== "make")
    throw new McpError(ErrorCode.InvalidParams, `There is no prompt ${JSON.stringify(name)}; there is: make.`);
  if (wish === "" || wish.length > LONGEST_WISH) {
    throw new McpError(ErrorCode.InvalidParams, `wish: say what is to be made, in at most ${LONGEST_WISH} characters.`);
  }
  const text = `Make this with Showrunner: ${wish}

1. Choose a pipeline with list_pipelines and read its input with describe_pipeline.
2. Price it with quote_pipeline, tell me the price, and wait for my yes.
3. Start it with run_pipeline under a name of its own, and follow it with wait_for_run.
4. If it waits for a decision, show me what waits with show_media and let me decide.
5. Show me the result with show_media and tell me what it cost.`;
  return { messages: [{ role: "user", content: { type: "text", text } }] };
}
