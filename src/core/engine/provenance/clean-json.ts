import { basename } from "node:path/posix";
import { withoutSecrets } from "../../kit/clean-text.ts";
import type { Json } from "../../plan/plan.ts";

/** JSON that may be shown to anybody: {@link withoutSecrets}, and of a file its name. */
export function cleanJson(value: Json): Json {
  return withoutSecrets(withFileNames(value)) as Json;
}

function withFileNames(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withFileNames);
  const record = value as { readonly [key: string]: Json };
  if (isLocalFile(record)) return { file: basename(String(record.path).replaceAll("\\", "/")), kind: record.kind! };
  return Object.fromEntries(Object.entries(record).map(([key, item]) => [key, withFileNames(item)]));
}

/** A file of the pipeline's input: where it lies on somebody's disk is nobody else's business. */
function isLocalFile({ path, kind, ...rest }: { readonly [key: string]: Json }): boolean {
  const isKind = kind === "image" || kind === "video" || kind === "audio";
  return typeof path === "string" && isKind && Object.keys(rest).length === 0;
}
