import type { z } from "zod";
import { fieldPath } from "../validate/problems.ts";
import { type FieldProblem, invalid, problem } from "./refusal.ts";

const REASONS: Readonly<Record<string, string>> = {
  invalid_type: "type",
  invalid_value: "enum",
  too_small: "minimum",
  too_big: "maximum",
  invalid_format: "format",
  unrecognized_keys: "unknown_field",
};

function toProblem(issue: z.core.$ZodIssue): FieldProblem {
  const pointer = issue.path.map((part) => `/${String(part)}`).join("");
  const field = fieldPath("", pointer).replace(/^\./, "") || "body";
  const allowed = issue.code === "invalid_value" ? issue.values.map(String) : null;
  if (issue.code === "custom") return problem(field, issue.message, String(issue.params?.["reason"] ?? "invalid"));
  const isText = (issue.code === "too_small" || issue.code === "too_big") && issue.origin === "string";
  if (isText) return problem(field, issue.message, issue.code === "too_small" ? "minLength" : "maxLength");
  const isMissing = issue.code === "invalid_type" && issue.input === undefined;
  return problem(field, issue.message, isMissing ? "required" : (REASONS[issue.code] ?? "invalid"), allowed);
}

/** Reads a body by its schema. @throws Refusal 400 with every bad field */
export function parseBody<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw invalid(parsed.error.issues.map(toProblem));
}
