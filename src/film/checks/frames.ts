import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Probed } from "../ffmpeg/probe.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";

/** Parts of the length at which frames are taken. */
const PLACES = [0.1, 0.5, 0.9];
const SCALE = "scale='min(768,iw)':-2:out_range=full,format=yuvj420p";

/** Three frames of a film, or a still picture, as JPEG. */
export async function framesOf({ path, seconds, video }: Probed, signal: AbortSignal): Promise<readonly Uint8Array[]> {
  const folder = await mkdtemp(join(tmpdir(), "showrunner-frames-"));
  try {
    const frames: Uint8Array[] = [];
    for (const place of video?.isStill === true ? [0] : PLACES) {
      const target = join(folder, `${frames.length}.jpg`);
      const seek = place === 0 ? [] : ["-ss", (seconds * place).toFixed(3)];
      const inputs = [{ path, name: "what was made", args: seek }];
      const args = ["-map", "0:v:0", "-frames:v", "1", "-vf", SCALE, "-q:v", "4"];
      await runFfmpeg({ inputs, args, target, signal });
      frames.push(await readFile(target));
    }
    return frames;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
