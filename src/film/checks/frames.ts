import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Probed, ProbedVideo } from "../ffmpeg/probe.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { fitFilter } from "../graph/fit.ts";
import { even } from "../graph/size.ts";

const PLACES = [0.1, 0.5, 0.9];
const MOST_WIDTH = 768;
const AS_JPEG = "scale=in_color_matrix=bt709:out_color_matrix=bt601:out_range=full,format=yuvj420p";

export async function framesOf(
  { path, seconds }: Probed,
  video: ProbedVideo,
  signal: AbortSignal,
): Promise<readonly Uint8Array[]> {
  const folder = await mkdtemp(join(tmpdir(), "showrunner-frames-"));
  try {
    const frames: Uint8Array[] = [];
    const factor = Math.min(1, MOST_WIDTH / video.width);
    const size = { width: even(video.width * factor), height: even(video.height * factor) };
    const filter = `[0:V:0]${fitFilter(video, size, { fit: "pad", label: "f" })},${AS_JPEG}[picture]`;
    for (const place of video.isStill ? [0] : PLACES) {
      const target = join(folder, `${frames.length}.jpg`);
      const seek = place === 0 ? [] : ["-ss", (seconds * place).toFixed(3)];
      const inputs = [{ path, name: "what was made", args: seek }];
      const args = ["-filter_complex", filter, "-map", "[picture]", "-frames:v", "1", "-q:v", "4"];
      await runFfmpeg({ inputs, args, target, signal });
      frames.push(await readFile(target));
    }
    return frames;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
