import { createHmac } from "node:crypto";
import type { CompiledModel } from "../catalog/catalog.ts";
import type { Work } from "../catalog/model.ts";
import type { DataDir } from "../data-dir.ts";
import type { FoundMedia } from "../media/resolve.ts";
import {
  inputError,
  type MediaFile,
  type Renderer,
  type RenderKind,
  type RenderResult,
  type VoiceProfile,
} from "../render/contract.ts";
import type { JobRow } from "../store/rows.ts";

export type Rendered =
  | { readonly ok: true; readonly assetId: string; readonly result: RenderResult }
  | { readonly ok: false; readonly error: unknown };

export interface RenderPorts {
  readonly renderer: Renderer;
  readonly dataDir: DataDir;
  readonly secret: string;
  onError(error: unknown): void;
  voice(voiceId: string, job: JobRow): VoiceProfile | null;
}

/** Returns an id that cannot be guessed, but stays the same if the output is rendered again. */
function assetIdOf(secret: string, jobId: string, position: number): string {
  const hex = createHmac("sha256", secret).update(`${jobId}/${position}`).digest("hex");
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  return `asset_${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

interface Plan {
  readonly kind: RenderKind;
  readonly input: Work["input"];
  readonly media: Readonly<Record<string, readonly MediaFile[]>>;
  readonly outputs: number;
  readonly broken: { readonly field: string; readonly fault: string } | null;
}

function brokenOf(media: Readonly<Record<string, readonly FoundMedia[]>>): Plan["broken"] {
  for (const [field, files] of Object.entries(media)) {
    const fault = files.find((file) => file.fault)?.fault;
    if (fault) return { field, fault };
  }
  return null;
}

function planOf(job: JobRow, model: CompiledModel | undefined, dataDir: DataDir): Plan {
  const input = JSON.parse(job.input) as Work["input"];
  const media = JSON.parse(job.media) as Record<string, readonly FoundMedia[]>;
  const adapted = model?.adapt?.({ input, media }) ?? { input, rename: {} };
  const files = Object.entries(media).map(([field, found]) => [
    adapted.rename[field] ?? field,
    found.map(
      (file): MediaFile => ({
        ...file,
        path: dataDir.absolute(file.path),
        isCaptioned: file.sourceSeq !== null,
      }),
    ),
  ]);
  const outputs = input["num_outputs"];
  return {
    kind: job.kind === "chat" ? "image" : job.kind,
    input: adapted.input,
    media: Object.fromEntries(files),
    outputs: job.kind !== "voice" && typeof outputs === "number" ? outputs : 1,
    broken: brokenOf(media),
  };
}

/** Never rejects. If an output fails, its result is an error. */
export function renderJob(ports: RenderPorts, job: JobRow, model: CompiledModel | undefined, signal: AbortSignal) {
  const { kind, input, media, outputs, broken } = planOf(job, model, ports.dataDir);
  const voiceId = input["voice_id"];
  const voice = typeof voiceId === "string" ? ports.voice(voiceId, job) : null;

  async function renderOne(index: number): Promise<Rendered> {
    const assetId = assetIdOf(ports.secret, job.jobId, index);
    const { dataDir, renderer } = ports;
    const outPath = dataDir.incoming(assetId);
    try {
      if (broken !== null) throw inputError(broken.field, broken.fault);
      const request = { kind, index, seed: job.seed, input, media, voice, outPath };
      const result = await renderer.render(request, { signal });
      if (kind !== "voice") await dataDir.moveTo(dataDir.assetPath(assetId), outPath);
      return { ok: true, assetId, result };
    } catch (error) {
      ports.onError(error);
      return { ok: false, error };
    }
  }

  return Promise.all(Array.from({ length: outputs }, (_, index) => renderOne(index)));
}
