import { afterAll, beforeAll, expect, test } from "vitest";
import type { Showrunner } from "../../../src/index.ts";
import { clientOf, type SessionWorld, sessionWorld } from "./support/in-memory.ts";

let world: SessionWorld;
beforeAll(async () => {
  world = await sessionWorld(1_000_000);
});
afterAll(() => world[Symbol.asyncDispose]());

/** What an agent reads of a catalog of so many models, whose texts are this long. */
async function listed(
  count: number,
  characters: number,
): Promise<{ readonly text: string; readonly models: unknown[] }> {
  const long = "x".repeat(characters);
  async function* models() {
    for (let n = 0; n < count; n += 1)
      yield { id: `model-${n}`, modality: "image", name: `${long} ${n}`, priceDescription: `${long}\u001b[31m` };
  }
  const show = Object.create(world.show, { client: { value: { models } } }) as Showrunner;
  const client = await clientOf(world.sessionWith({ show }));
  const { content, structuredContent } = await client.callTool({ name: "list_models", arguments: {} });
  await client.close();
  const [{ text }] = content as [{ readonly text: string }];
  expect(JSON.parse(text)).toEqual(structuredContent);
  return { text, models: (structuredContent as { readonly models: unknown[] }).models };
}

test("200 models are listed whole", async () => {
  const { models } = await listed(200, 20);
  expect(models).toHaveLength(200);
  expect(models.at(-1)).toMatchObject({ id: "model-199" });
});

test.each([
  [201, 20],
  [5_000, 20],
  [200, 1_000],
  [200, 100_000],
])(
  "of %i models with texts of %i characters as many as fit are listed, and how many are not",
  async (count, characters) => {
    const { text, models } = await listed(count, characters);
    expect(text.length).toBeLessThanOrEqual(60_000);
    expect(text).not.toContain("\u001b");
    expect(models.at(-1)).toBe(`… and ${count - models.length + 1} more`);
    expect(models.length).toBeGreaterThan(5);
  },
);
