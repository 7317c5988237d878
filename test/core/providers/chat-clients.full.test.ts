/** The local service's language models, asked by the clients that people have, each in its default settings. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";
import { start } from "../../local-service/support/service.ts";
import { describeNeeding } from "../../support/absence.ts";
import { PACKAGES } from "./support/models.ts";
import { lacksPackages } from "./support/providers.ts";

/** What a test uses of a package, which is not installed where types are checked. */
// biome-ignore lint/suspicious/noExplicitAny: its types are not here
type Untyped = any;

const installed = createRequire(join(PACKAGES, "../package.json"));
const load = async (name: string): Promise<Untyped> =>
  import(/* @vite-ignore */ pathToFileURL(installed.resolve(name)).href);

describeNeeding(lacksPackages())("With the packages of AI SDK and LangChain,", () => {
  const weather = { name: "get_weather", description: "The weather of a city" };
  const city = z.object({ city: z.string() });
  const answer = "Simulated answer to: Describe a mill.";

  /** AI SDK's model, by `/responses` as it is by default, or by `/chat/completions`. */
  const model = async (by: "responses" | "chat") => {
    const service = await start();
    const { createOpenAI } = await load("@ai-sdk/openai");
    const openai = createOpenAI({ baseURL: service.baseUrl, apiKey: service.apiKey });
    return by === "responses" ? openai("chat-1") : openai.chat("chat-1");
  };

  for (const by of ["responses", "chat"] as const) {
    test(`AI SDK writes a text by /${by}`, async () => {
      const { generateText } = await load("ai");
      const { text, usage, finishReason } = await generateText({ model: await model(by), prompt: "Describe a mill." });
      expect({ text, finishReason }).toEqual({ text: answer, finishReason: "stop" });
      expect(usage.outputTokens).toBeGreaterThan(0);
    });

    test(`AI SDK streams a text by /${by}`, async () => {
      const { streamText } = await load("ai");
      const { textStream, usage } = streamText({ model: await model(by), prompt: "Describe a mill." });
      const parts: string[] = [];
      for await (const part of textStream) parts.push(part);
      expect(parts.join("")).toBe(answer);
      expect(parts.length).toBeGreaterThan(1);
      expect((await usage).inputTokens).toBeGreaterThan(0);
    });

    test(`AI SDK reads an object of a schema by /${by}`, async () => {
      const { generateText, Output } = await load("ai");
      const output = Output.object({ schema: z.object({ title: z.string(), scenes: z.array(z.string()).min(2) }) });
      const made = await generateText({ model: await model(by), prompt: "Plan a film.", output });
      expect(made.output).toEqual({ title: expect.any(String), scenes: expect.any(Array) });
      expect(made.output.scenes.length).toBeGreaterThanOrEqual(2);
    });

    test(`AI SDK calls a tool by /${by}`, async () => {
      const { generateText, tool } = await load("ai");
      const tools = { get_weather: tool({ description: weather.description, inputSchema: city }) };
      const made = await generateText({ model: await model(by), prompt: "Weather?", tools, toolChoice: "required" });
      expect(made.toolCalls).toMatchObject([{ toolName: "get_weather", input: { city: expect.any(String) } }]);
    });
  }

  const chain = async (options: object = {}) => {
    const service = await start();
    const { ChatOpenAI } = await load("@langchain/openai");
    return new ChatOpenAI({
      ...{ model: "chat-1", apiKey: service.apiKey, configuration: { baseURL: service.baseUrl } },
      ...options,
    });
  };

  test.each([{}, { useResponsesApi: true }])(
    "LangChain writes, streams, fills a schema and calls a tool: %j",
    async (options) => {
      const chat = await chain(options);
      const { text, usage_metadata: usage } = await chat.invoke("Describe a mill.");
      expect(text).toBe(answer);
      expect(usage.output_tokens).toBeGreaterThan(0);
      const parts: string[] = [];
      for await (const part of await chat.stream("Describe a mill.")) parts.push(part.text);
      expect(parts.join("")).toBe(answer);
      const plan = await chat.withStructuredOutput(z.object({ title: z.string() })).invoke("Plan a film.");
      expect(plan).toEqual({ title: expect.any(String) });
      const calling = chat.bindTools([{ ...weather, schema: city }], { tool_choice: "required" });
      expect((await calling.invoke("Weather?")).tool_calls).toMatchObject([
        { name: "get_weather", args: { city: expect.any(String) } },
      ]);
    },
  );
});
