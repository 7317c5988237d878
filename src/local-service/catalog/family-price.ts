import type { FamilyCondition, FamilyPrice } from "../../families/index.ts";
import { micros } from "../money/micros.ts";
import { isAmong } from "../validate/family-rules.ts";
import { secondsBegun } from "./builtin/define.ts";
import { characters, lengthMs } from "./guess-price.ts";
import type { Work } from "./model.ts";

/** The price that is known of a model's family, in micro-dollars; null where none applies. */
export function familyPriceMicros(prices: readonly FamilyPrice[], work: Work): number | null {
  const price = prices.find(({ when }) => applies(when, work));
  return price === undefined ? null : Math.round(micros(price.usd) * unitsOf(price.per, work));
}

function unitsOf(per: FamilyPrice["per"], work: Work): number {
  const asked = work.input["num_outputs"];
  const outputs = typeof asked === "number" ? asked : 1;
  switch (per) {
    case "job":
      return 1;
    case "image":
      return outputs;
    case "second":
      return secondsBegun(lengthMs(work)) * outputs;
    case "1000_characters":
      return characters(work) / 1000;
    default:
      return per satisfies never;
  }
}

/** Defaults are filled in by now. */
function applies(when: FamilyCondition | undefined, { input }: Work): boolean {
  if (when === undefined) return true;
  const value = input[when.field] ?? null;
  return when.is === undefined ? value !== null : isAmong(value, when.is);
}
