import { expect, test } from "vitest";
import { startService } from "./support/service.ts";

test("serve --strict opens the catalog, and a switch beside it still counts", async () => {
  await using service = await startService(["--strict", "--unquotable-cost", "omit"]);
  expect((await fetch(`${service.baseUrl}/models`)).status).toBe(200);
  const { components } = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as {
    components: { schemas: Record<string, { required: string[] }> };
  };
  expect(components.schemas["Estimate"]?.required).toEqual(["model", "currency"]);
});
