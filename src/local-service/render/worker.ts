import { rename, writeFile } from "node:fs/promises";
import { parentPort } from "node:worker_threads";
import { inputError, RenderError, type RenderRequest, type RenderResult } from "./contract.ts";
import type { Reply, Result, Task } from "./pool.ts";
import { probeFile } from "./probe/probe-file.ts";

const port = parentPort;
if (port === null) throw new Error("this file must run as a worker thread; it cannot be run directly");

const reply = (message: Reply) => port.postMessage(message);

port.on("message", (task: Task) => {
  perform(task).then(
    (result) => reply({ type: "done", result }),
    (error: unknown) => reply(failure(error)),
  );
});

async function perform(task: Task): Promise<Result> {
  switch (task.type) {
    case "probe":
      return probeFile(task.path);
    case "render":
      return renderOne(task.request, task.tempPath);
    default:
      return task satisfies never;
  }
}

async function renderOne(request: RenderRequest, tempPath: string): Promise<RenderResult> {
  if (request.kind === "voice") return cloneVoice(request);
  const bytes = await make(request);
  await writeFile(tempPath, bytes);
  const measured = await probeFile(tempPath);
  if (!measured.ok) throw new Error(`the output cannot be read back: ${measured.reason}`);
  await rename(tempPath, request.outPath);
  const { contentType, width, height, durationMs, fps } = measured;
  return { contentType, width, height, durationMs, fps, sizeBytes: bytes.length, voice: null };
}

async function make(request: RenderRequest): Promise<Uint8Array> {
  const { kind } = request;
  switch (kind) {
    case "image":
      return (await import("./draw/image.ts")).renderImage(request);
    case "video":
      return (await import("./video/video.ts")).renderVideo(request);
    case "avatar":
      return (await import("./video/avatar.ts")).renderAvatar(request);
    case "speech":
      return (await import("./sound/render-speech.ts")).renderSpeech(request);
    case "sound":
      return (await import("./sound/render-speech.ts")).renderSound(request);
    case "voice":
      throw new Error("a voice profile cannot be rendered to a file");
    default:
      return kind satisfies never;
  }
}

async function cloneVoice({ media, input }: RenderRequest): Promise<RenderResult> {
  const file = media.audio?.[0];
  if (file === undefined) throw inputError("audio", "a voice clone requires a speech sample");
  const [{ loadSound }, { profileOf }] = await Promise.all([
    import("./sound/decode.ts"),
    import("./sound/render-speech.ts"),
  ]);
  const voice = profileOf(await loadSound(file, "audio"), String(input.name ?? "voice"));
  return { contentType: null, width: null, height: null, durationMs: null, fps: null, sizeBytes: 0, voice };
}

function failure(error: unknown): Reply {
  if (error instanceof RenderError) return { type: "failed", code: error.code, message: error.message };
  return { type: "failed", code: "RENDER_FAILED", message: error instanceof Error ? error.message : String(error) };
}
