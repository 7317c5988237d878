import { fingerprint } from "../plain-json.ts";
import type { DraftStepBase, FileFacts, MediaKind, StepBase } from "../step.ts";
import { bindWhen, MEDIA, needsOf, type Planning, type StepKind, UNKNOWN } from "./kind.ts";

/** A local file that is sent to the service, free of charge. */
export interface UploadStep extends StepBase {
  readonly kind: "upload";
  readonly yields: MediaKind;
  readonly file: FileFacts;
}

export interface UploadDraft extends DraftStepBase {
  readonly kind: "upload";
  /** A path, an `http(s)` URL or, if `bytes` is set, a name for them. Empty if the file is invalid. */
  readonly file: string;
  readonly bytes: Uint8Array | null;
  readonly media: MediaKind | null;
  /** Origin on a private network from which the file may be downloaded; null if none. */
  readonly inside: string | null;
}

export const uploadKind: StepKind<UploadDraft, UploadStep> = {
  files({ file, bytes, media, path, inside }) {
    const given = { ...(bytes !== null && { bytes }), ...(inside !== null && { inside }) };
    return file === "" ? [] : [{ path: file, kind: media ?? "image", step: path, ...given }];
  },
  models: () => [],
  plan(draft, planning) {
    const when = bindWhen(draft.when, planning);
    const file = measured(draft, planning);
    const yields = draft.media ?? (file === null ? null : mediaOf(file));
    if (file === null || yields === null) return { facts: { ...UNKNOWN, yields, outputs: 1, as: "upload" } };
    const asks = fingerprint({ kind: "upload", sha256: file.sha256, yields });
    const { path } = draft;
    const step: UploadStep = { kind: "upload", path, needs: needsOf(draft), fingerprint: asks, ...when, yields, file };
    return { step };
  },
  facts: ({ yields, file }) => ({ ...MEDIA, yields, as: "upload", sizeBytes: file.sizeBytes }),
  traits: ({ yields, file }) => ({
    noun: "uploaded file",
    note: `${yields} file`,
    subject: file.path.split(/[\\/]/).at(-1) ?? null,
    brackets: ["[/", "/]"],
    icon: "file",
    uses: [],
    requested: { file: file.sha256, kind: yields },
    pricing: { by: "nothing" },
    typicalMs: 500,
    modality: null,
    needsCode: false,
    readsFiles: false,
    decision: null,
    submits: null,
    provider: null,
    reuse: null,
    file,
    standsFor: [],
    isChoice: false,
    expansion: null,
    keeps: true,
  }),
};

function measured(draft: UploadDraft, { files, report }: Planning): FileFacts | null {
  if (draft.file === "") return null;
  const shown = withoutQuery(draft.file);
  const facts = files.get(draft.file) ?? { error: `${shown} was not measured` };
  if ("error" in facts) {
    report("missing-file", "file", `${facts.error}; check the ${sourceOf(draft)}`);
    return null;
  }
  const kind = mediaOf(facts);
  if (kind !== null && (draft.media === null || draft.media === kind)) return facts;
  const expectedKinds = draft.media ?? "image, video or audio";
  report("not-media-file", "file", `${shown} is ${facts.contentType}, not ${expectedKinds}; use another file`);
  return null;
}

function mediaOf({ contentType }: FileFacts): "image" | "video" | "audio" | null {
  return (["image", "video", "audio"] as const).find((kind) => contentType.startsWith(`${kind}/`)) ?? null;
}

function sourceOf({ file, bytes }: UploadDraft): string {
  if (bytes !== null) return "bytes";
  return /^https?:/i.test(file) ? "URL" : "path";
}

export function withoutQuery(file: string): string {
  if (!isUrl(file) || !URL.canParse(file)) return file;
  const { protocol, host, pathname } = new URL(file);
  return `${protocol}//${host}${pathname}`;
}

function isUrl(file: string): boolean {
  return /^https?:\/\//i.test(file);
}
