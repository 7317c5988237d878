import type { JsonSchema } from "../catalog/model.ts";
import type { Clock } from "../clock/clock.ts";
import { type FieldProblem, problem } from "../http/refusal.ts";
import type { FileRow, OutputRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import { type Owner, pathOf } from "../store/tables.ts";
import {
  checkMedia,
  checkTotal,
  type FoundMedia,
  type MediaReference,
  mediaReferences,
  rulesOfField,
} from "./references.ts";

/** Image, video or audio, by MIME type. */
export function kindOfContent(contentType: string): "image" | "video" | "audio" {
  const kind = contentType.split("/")[0];
  return kind === "video" || kind === "audio" ? kind : "image";
}

/** The media of an input, by field and in order, or its problems. */
export interface ResolvedMedia {
  readonly problems: readonly FieldProblem[];
  readonly media: Readonly<Record<string, readonly FoundMedia[]>>;
}

type Found = { readonly found: FoundMedia } | { readonly problem: FieldProblem };

function fromFile(file: FileRow): FoundMedia {
  return { ...file, sourceSeq: null };
}

function fromOutput(output: OutputRow, path: string): FoundMedia {
  const contentType = output.contentType ?? "application/octet-stream";
  const { width, height, durationMs, jobSeq } = output;
  const sizeBytes = output.sizeBytes ?? 0;
  return {
    kind: kindOfContent(contentType),
    path,
    contentType,
    width,
    height,
    durationMs,
    sizeBytes,
    fault: null,
    sourceSeq: jobSeq,
  };
}

/** Looks up media references for one owner. */
export function mediaResolver(store: Store, clock: Clock) {
  function upload(url: string, field: string, owner: Owner): Found {
    const fileId = /\/uploads\/(file_[0-9a-f-]{36})\?/.exec(url)?.[1];
    const file = fileId === undefined ? undefined : store.files.get(fileId);
    if (!file || file.url !== url || file.workspaceId !== owner.workspaceId || file.ownerId !== owner.ownerId) {
      return { problem: problem(field, "is not a URL that POST /files returned to you", "not_found") };
    }
    if (file.expiresAt > clock.now()) return { found: fromFile(file) };
    return { problem: problem(field, "has expired; upload the file again", "expired") };
  }

  function asset(assetId: string, field: string, owner: Owner): Found {
    if (assetId.startsWith("job_")) {
      return { problem: problem(field, "is a job id; use outputs[].asset_id of that job", "not_an_asset") };
    }
    const output = store.outputs.byAsset(assetId);
    const job = output && store.jobs.bySeq(output.jobSeq);
    if (!job || job.workspaceId !== owner.workspaceId || job.ownerId !== owner.ownerId) {
      return { problem: problem(field, "is not an asset of yours", "not_found") };
    }
    const isOver = job.expiresAt !== null && job.expiresAt <= clock.now();
    const path = pathOf(output);
    if (isOver || path === null) return { problem: problem(field, "has expired", "expired") };
    return { found: fromOutput(output, path) };
  }

  function lookUp({ value, field }: MediaReference, owner: Owner): Found {
    return value.source === "url"
      ? upload(value.url, `${field}.url`, owner)
      : asset(value.asset_id, `${field}.asset_id`, owner);
  }

  return (schema: JsonSchema, input: Readonly<Record<string, unknown>>, owner: Owner): ResolvedMedia => {
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
