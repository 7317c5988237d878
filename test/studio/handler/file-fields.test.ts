import { expect, test } from "vitest";
import { z } from "zod";
import { withFiles } from "../../../src/studio/handler/read-input.ts";
import { inputSchema } from "../../../src/studio/served/index.ts";

test("a deep value of a recursive union is looked through at once", async () => {
  const tree: z.ZodType = z.lazy(() =>
    z.union([
      z.object({ is: z.literal("a"), child: tree.optional() }),
      z.object({ is: z.literal("b"), child: tree.optional() }),
    ]),
  );
  const deep = Array.from({ length: 37 }).reduce<unknown>((child) => ({ is: "a", child }), { is: "b" });
  expect(await withFiles(inputSchema(z.object({ tree })), { tree: deep }, async () => "")).toEqual({ tree: deep });
});
