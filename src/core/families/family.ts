import { z } from "zod";
import { parseModelName } from "./model-name.ts";

/** Stands in every message that comes from a rule of ours, so that nobody takes it for the service's own word. */
export const OURS = "a rule known to Showrunner, not stated by the service's schema";

const field = z.string().min(1);
const scalar = z.union([z.string(), z.number(), z.boolean()]);
const fields = (least: number) => z.array(field).min(least);

/** A field is given or, with `is`, has one of these values; a field that is not given has its schema's default. */
const condition = z.strictObject({ field, is: z.array(scalar).min(1).optional() });

const common = {
  /** When the rule applies. Default: always. */
  when: condition.optional(),
  /** Why, and what to do; the field and what is wrong with it are said before. */
  message: z.string().min(1),
};

const rule = z.discriminatedUnion("kind", [
  /** All of the fields are needed. */
  z.strictObject({ kind: z.literal("requires"), fields: fields(1), ...common }),
  /** None of the fields may be given. */
  z.strictObject({ kind: z.literal("forbids"), fields: fields(1), ...common }),
  /** Exactly one of the fields has to be given. */
  z.strictObject({ kind: z.literal("one_of"), fields: fields(2), ...common }),
  /** The field, where it has a value, has one of these. Text is compared without regard to case. */
  z.strictObject({ kind: z.literal("values"), field, values: z.array(scalar).min(1), ...common }),
  /** The numbers `of` the items of a list add up to at most `max`; an item without one counts with its schema's default. */
  z.strictObject({ kind: z.literal("max_sum"), field, of: field, max: z.number(), ...common }),
]);

const price = z.strictObject({
  when: condition.optional(),
  /** US dollars. */
  usd: z.number().min(0),
  per: z.enum(["job", "second", "image", "1000_characters"]),
});

const modelName = z.string().refine((name) => parseModelName(name).family.length > 0, {
  error: 'names no family; write it like a model id, such as "kling-3" for every kling 3',
});

const family = z.strictObject({
  name: z.string().min(1),
  /** Model ids that it stands for: `kling-3` is every tier and mode of kling 3, `kling` every version. */
  models: z.array(modelName).min(1).optional(),
  rules: z.array(rule).optional(),
  /** The first that applies is the price; for services that have none. */
  prices: z.array(price).optional(),
  /** Roughly how long a job takes. */
  typical_seconds: z.number().positive().optional(),
});

export const familyList = z.array(family);

/** A family as a file or a caller writes it: what it leaves out is as built in. */
export type FamilyInput = z.input<typeof family>;
export type FamilyRule = z.output<typeof rule>;
export type FamilyPrice = z.output<typeof price>;
export type FamilyCondition = z.output<typeof condition>;

/** What is known of a family of models beyond their schemas: knowledge of Showrunner, not of the service. */
export interface Family {
  readonly name: string;
  readonly models: readonly string[];
  readonly rules: readonly FamilyRule[];
  /** False where a file gives them. Built-in ones yield to a table that a model publishes. */
  readonly areRulesBuiltIn: boolean;
  readonly prices: readonly FamilyPrice[];
  /** Null where it is not known. */
  readonly typicalMs: number | null;
}
