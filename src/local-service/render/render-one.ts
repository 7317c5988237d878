import { rename, writeFile } from "node:fs/promises";
import type { RenderRequest, RenderResult } from "./contract.ts";
import { probeFile } from "./probe/probe-file.ts";
import { inputError } from "./render-error.ts";
import { decodeSoundFile } from "./sound/decode.ts";
import { profileOf } from "./sound/render-speech.ts";

export type Progress = (fraction: number) => void;

/** Renders one output: writes a temporary file, renames it, then measures it. */
export async function renderOne(request: RenderRequest, tempPath: string, onProgress: Progress): Promise<RenderResult> {
  if (request.kind === "voice") return cloneVoice(request);
  const bytes = await make(request, onProgress);
  await writeFile(tempPath, bytes);
  const measured = await probeFile(tempPath);
  if (!measured.ok) throw new Error(`what was made cannot be read back: ${measured.reason}`);
  await rename(tempPath, request.outPath);
  onProgress(1);
  const { contentType, width, height, durationMs, fps } = measured;
  return { contentType, width, height, durationMs, fps, sizeBytes: bytes.length, voice: null };
}

async function make(request: RenderRequest, onProgress: Progress): Promise<Uint8Array> {
  const { kind } = request;
  switch (kind) {
    case "image":
      return (await import("./draw/image.ts")).renderImage(request);
    case "video":
      return (await import("./video/video.ts")).renderVideo(request, onProgress);
    case "avatar":
      return (await import("./video/avatar.ts")).renderAvatar(request, onProgress);
    case "speech":
      return (await import("./sound/render-speech.ts")).renderSpeech(request, onProgress);
    case "voice":
      throw new Error("a voice is no file");
    default: {
      const unknown: never = kind;
      throw new Error(`unknown kind ${String(unknown)}`);
    }
  }
}

async function cloneVoice({ media, input }: RenderRequest): Promise<RenderResult> {
  const file = media.audio?.[0];
  if (file === undefined) throw inputError("audio", "a voice needs a sample");
  const decoded = await decodeSoundFile(file.path);
  if (!decoded.ok) throw inputError("audio", `the sample cannot be decoded: ${decoded.reason}`);
  const voice = profileOf(decoded.sound, String(input.name ?? "voice"));
  return { contentType: null, width: null, height: null, durationMs: null, fps: null, sizeBytes: 0, voice };
}
