import type { UploadDraft } from "../../define/draft.ts";
import { fingerprint } from "../fingerprint.ts";
import type { FileFacts } from "../plan.ts";
import type { Planning, StepFacts, StepKind } from "./kind.ts";

export const uploadKind: StepKind<UploadDraft> = {
  files: ({ file, media, path }) => (file === "" ? [] : [{ path: file, kind: media ?? "image", step: path }]),
  models: () => [],
  plan(draft, planning) {
    const file = measured(draft, planning);
    const yields = draft.media ?? (file === null ? null : mediaOf(file));
    const facts: StepFacts = { yields, outputs: 1, as: "upload", sizeBytes: file?.sizeBytes ?? null };
    if (file === null || yields === null) return { step: null, facts };
    const asks = { kind: "upload", sha256: file.sha256, yields };
    const needs = [...new Set(draft.after)].sort();
    const step = { kind: "upload", path: draft.path, needs, yields, file, fingerprint: fingerprint(asks) } as const;
    return { step, facts };
  },
};

function measured(draft: UploadDraft, { files, report }: Planning): FileFacts | null {
  if (draft.file === "") return null;
  const facts = files.get(draft.file) ?? { error: `${draft.file} was not measured` };
  if ("error" in facts) {
    report("missing-file", "file", `${facts.error}; check the path`);
    return null;
  }
  const kind = mediaOf(facts);
  if (kind !== null && (draft.media === null || draft.media === kind)) return facts;
  const wanted = draft.media ?? "an image, a video or audio";
  report("not-media-file", "file", `${draft.file} holds ${facts.contentType}, not ${wanted}; give a file of that kind`);
  return null;
}

function mediaOf({ contentType }: FileFacts): "image" | "video" | "audio" | null {
  return (["image", "video", "audio"] as const).find((kind) => contentType.startsWith(`${kind}/`)) ?? null;
}
