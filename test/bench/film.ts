/**
 * A minute of 1080p from twelve clips of several sizes and rates: `join` beside the same ffmpeg command written by hand. Takes
 * turns, so that both have the same machine.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as at } from "node:path";
import { promisify } from "node:util";
import { findFfmpeg } from "../../src/film/ffmpeg/abilities.ts";
import { join } from "../../src/film/index.ts";
import { drawClip } from "../film/support/ffmpeg.ts";
import { fileOf, make } from "../film/support/film-step.ts";
import type { Report } from "./harness.ts";

const CLIPS = 12;
const SIZES = ["1280x720", "1920x1080", "1024x576"];
const RATES = [25, 30, 24];
const MOST_RATIO = 1.3;

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const ffmpeg = await findFfmpeg();
  if (ffmpeg === null) {
    console.error("\n*** NOT MEASURED: films need ffmpeg (apt-get install ffmpeg) ***\n");
    return;
  }
  const seconds = quick ? 1 : 5;
  const folder = mkdtempSync(at(tmpdir(), "bench-film-"));
  try {
    const clips = await Promise.all(
      Array.from({ length: CLIPS }, (_, index) =>
        drawClip(at(folder, `clip-${index}.mp4`), {
          size: SIZES[index % SIZES.length]!,
          fps: RATES[index % RATES.length]!,
          seconds,
          codec: ["-preset", "ultrafast", "-crf", "20"],
        }),
      ),
    );
    const [ours, byHand, ratios]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < 3; round += 1) {
      const film = clips.map((clip) => fileOf("video", clip));
      const one = await timed(() => make(folder, (task) => join(task, "cut", film, { size: "1080p", fps: 25 })));
      const other = await timed(() => promisify(execFile)(ffmpeg.path, commandOf(clips, at(folder, "by-hand.mp4"))));
      ours.push(one);
      byHand.push(other);
      ratios.push(one / other);
    }
    const group = `${CLIPS * seconds} s of 1080p from ${CLIPS} clips`;
    report.figure(group, "join", "s", ours);
    report.figure(group, "the ffmpeg command by hand", "s", byHand);
    report.figure(group, "join takes, of that", "times", ratios, { most: MOST_RATIO });
    report.note(`ffmpeg ${ffmpeg.version}; both by libx264, veryfast, crf 18`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

function commandOf(clips: readonly string[], target: string): readonly string[] {
  const chains = clips.map((_, index) => `[${index}:v]scale=1920:1080,setsar=1,fps=25,format=yuv420p[v${index}]`);
  const both = clips.map((_, index) => `[v${index}][${index}:a]`);
  const graph = `${chains.join(";")};${both.join("")}concat=n=${clips.length}:v=1:a=1[v][a]`;
  return [
    ...["-v", "error", "-nostdin", "-y", ...clips.flatMap((clip) => ["-i", clip])],
    ...["-filter_complex", graph, "-map", "[v]", "-map", "[a]", "-c:v", "libx264", "-preset", "veryfast", "-crf", "18"],
    ...["-c:a", "aac", "-b:a", "192k", target],
  ];
}
