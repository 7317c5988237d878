import type { GenerateStep } from "../../plan/kinds/generate.ts";
import { resultOfOutputs } from "./paid.ts";
import { providerKind } from "./provider.ts";

export const generateKind = providerKind<GenerateStep>({
  sends: "generate",
  poll: ({ path }, { n }) => ({ type: "operation", step: path, attempt: n }),
  result: resultOfOutputs,
});
