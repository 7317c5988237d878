import type { JsonSchema, MeasuredMedia } from "../catalog/model.ts";
import type { Clock } from "../clock/clock.ts";
import { type FieldProblem, problem } from "../http/refusal.ts";
import { isRecord, resolveReference } from "../json.ts";
import type { OutputRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import { type Owner, pathOf } from "../store/tables.ts";

type MediaRules = Readonly<Record<string, unknown>>;

export interface FoundMedia extends MeasuredMedia {
  readonly path: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Why the file cannot be decoded, or null if it can. */
  readonly fault: string | null;
  /** Sequence number of the job that produced the media, or null for an upload. */
  readonly sourceSeq: number | null;
}

function bound(rules: MediaRules, name: string): number | null {
  const value = rules[name];
  return typeof value === "number" ? value : null;
}

function kinds(rules: MediaRules): string[] {
  const types = rules["media_type"];
  return [types].flat().flatMap((type) => (typeof type === "string" ? [type.split("/")[0]!] : []));
}

type Measure = readonly [value: number | null, least: string, most: string, unit: string];

function measures({ width, height, durationMs }: FoundMedia): Measure[] {
  const sides = width === null || height === null ? null : ([width, height] as const);
  return [
    [durationMs, "min_duration_ms", "max_duration_ms", "ms long"],
    [sides && Math.min(...sides), "min_dimension_px", "", "px on its shorter side"],
    [sides && Math.max(...sides), "", "max_dimension_px", "px on its longer side"],
    [sides && sides[0] / sides[1], "min_aspect_ratio", "max_aspect_ratio", "times as wide as it is tall"],
  ];
}

function boundProblems(field: string, [value, min, max, unit]: Measure, rules: MediaRules): FieldProblem[] {
  const least = bound(rules, min);
  const most = bound(rules, max);
  if (value === null) return [];
  if (least !== null && value < least) {
    return [problem(field, `the media is ${value} ${unit}; at least ${least} is required`, min)];
  }
  if (most === null || value <= most) return [];
  return [problem(field, `the media is ${value} ${unit}; at most ${most} is allowed`, max)];
}

function checkMedia(field: string, media: FoundMedia, rules: MediaRules): FieldProblem[] {
  const accepted = kinds(rules);
  if (accepted.length > 0 && !accepted.includes(media.kind)) {
    return [
      problem(field, `the media type must be ${accepted.join(" or ")}; got ${media.kind}`, "media_type", accepted),
    ];
  }
  const largest = bound(rules, "max_file_size_bytes");
  const size =
    largest !== null && media.sizeBytes > largest
      ? [problem(field, `the file is ${media.sizeBytes} bytes; at most ${largest} are allowed`, "max_file_size_bytes")]
      : [];
  return [...size, ...measures(media).flatMap((measure) => boundProblems(field, measure, rules))];
}

function checkTotal(field: string, media: readonly FoundMedia[], rules: MediaRules): FieldProblem[] {
  const most = bound(rules, "max_total_duration_ms");
  const total = media.reduce((sum, item) => sum + (item.durationMs ?? 0), 0);
  if (most === null || total <= most) return [];
  return [problem(field, `lasts ${total} ms in total; at most ${most} ms are allowed`, "max_total_duration_ms")];
}

interface MediaReference {
  /** Path of the reference in the request, such as `input.images[0]`. */
  readonly field: string;
  readonly topField: string;
  /** What is referenced: an upload by its URL, or an asset by its id. */
  readonly to: { readonly url: string } | { readonly assetId: string };
  readonly rules: MediaRules;
}

type Node = Readonly<Record<string, unknown>>;

const RULE = /^(media_type|role|max_|min_)/;

function ownRules(schema: Node): MediaRules {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => RULE.test(key)));
}

function resolve(schema: unknown, root: JsonSchema, hops = 8): Node {
  if (!isRecord(schema)) return {};
  const ref = schema["$ref"];
  if (typeof ref !== "string" || hops === 0) return schema;
  return { ...resolve(resolveReference(root, ref), root, hops - 1), ...schema, $ref: undefined };
}

function referredTo({ source, url, asset_id: assetId }: Node): MediaReference["to"] | null {
  if (source === "url" && typeof url === "string") return { url };
  return source === "asset" && typeof assetId === "string" ? { assetId } : null;
}

function mediaReferences(schema: JsonSchema, input: Node): MediaReference[] {
  const found: MediaReference[] = [];

  function visit(node: unknown, value: unknown, field: string, topField: string, inherited: MediaRules): void {
    const here = resolve(node, schema);
    const rules = { ...inherited, ...ownRules(here) };
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(here["items"], item, `${field}[${index}]`, topField, rules);
      return;
    }
    if (!isRecord(value)) return;
    const isMedia = "media_type" in rules || isRecord(here["discriminator"]);
    const to = isMedia ? referredTo(value) : null;
    if (to) found.push({ field, topField, to, rules });
    else visitProperties(here, value, field, topField, rules);
  }

  function visitProperties(node: Node, value: Node, field: string, topField: string, rules: MediaRules): void {
    const properties = node["properties"];
    if (!isRecord(properties)) return;
    for (const [name, child] of Object.entries(value)) {
      if (Object.hasOwn(properties, name)) visit(properties[name], child, `${field}.${name}`, topField || name, rules);
    }
  }

  visitProperties(resolve(schema, schema), input, "input", "", {});
  return found;
}

function rulesOfField(schema: JsonSchema, field: string): MediaRules {
  const properties = resolve(schema, schema)["properties"];
  return isRecord(properties) ? ownRules(resolve(properties[field], schema)) : {};
}

function kindOfContent(contentType: string): "image" | "video" | "audio" {
  const kind = contentType.split("/")[0];
  return kind === "video" || kind === "audio" ? kind : "image";
}

type Found = { readonly found: FoundMedia } | { readonly problem: FieldProblem };

function fromOutput(output: OutputRow, path: string): FoundMedia {
  const { width, height, durationMs, jobSeq: sourceSeq } = output;
  const contentType = output.contentType ?? "application/octet-stream";
  const measured = { kind: kindOfContent(contentType), contentType, width, height, durationMs };
  return { ...measured, path, sizeBytes: output.sizeBytes ?? 0, fault: null, sourceSeq };
}

export function mediaResolver(store: Store, clock: Clock) {
  function upload(url: string, field: string, owner: Owner): Found {
    const fileId = /\/uploads\/(file_[0-9a-f-]{36})\?/.exec(url)?.[1];
    const file = fileId === undefined ? undefined : store.files.get(fileId);
    if (!file || file.url !== url || file.workspaceId !== owner.workspaceId || file.ownerId !== owner.ownerId) {
      return { problem: problem(field, "is not a URL that POST /files returned to you", "not_found") };
    }
    if (file.expiresAt > clock.now()) return { found: { ...file, sourceSeq: null } };
    return { problem: problem(field, "has expired; upload the file again", "expired") };
  }

  function asset(assetId: string, field: string, owner: Owner): Found {
    if (assetId.startsWith("job_")) {
      return { problem: problem(field, "is a job id; use outputs[].asset_id of that job", "not_an_asset") };
    }
    const output = store.outputs.byAsset(assetId);
    const job = output && store.jobs.bySeq(output.jobSeq);
    if (!job || job.workspaceId !== owner.workspaceId || job.ownerId !== owner.ownerId) {
      return { problem: problem(field, "is not one of your assets", "not_found") };
    }
    const isOver = job.expiresAt !== null && job.expiresAt <= clock.now();
    const path = pathOf(output);
    if (isOver || path === null) return { problem: problem(field, "has expired", "expired") };
    return { found: fromOutput(output, path) };
  }

  function lookUp({ to, field }: MediaReference, owner: Owner): Found {
    return "url" in to ? upload(to.url, `${field}.url`, owner) : asset(to.assetId, `${field}.asset_id`, owner);
  }

  return (schema: JsonSchema, input: Readonly<Record<string, unknown>>, owner: Owner) => {
    const problems: FieldProblem[] = [];
    const media: Record<string, FoundMedia[]> = {};
    for (const reference of mediaReferences(schema, input)) {
      const result = lookUp(reference, owner);
      if ("problem" in result) {
        problems.push(result.problem);
        continue;
      }
      problems.push(...checkMedia(reference.field, result.found, reference.rules));
      media[reference.topField] = [...(media[reference.topField] ?? []), result.found];
    }
    for (const [field, found] of Object.entries(media)) {
      problems.push(...checkTotal(`input.${field}`, found, rulesOfField(schema, field)));
    }
    return { problems, media };
  };
}
