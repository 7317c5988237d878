import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Candidate } from "../../core/define/index.ts";
import { reasonsIn } from "../../core/define/steps/job.ts";
import { type Probed, type ProbedVideo, probe } from "../ffmpeg/probe.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { even, fitFilter } from "../graph/frame.ts";
import { type Checks, type Limits, limitsOf } from "./checks.ts";
import { askLanguageModel } from "./verdict.ts";

const SPEECH_DB = -35;
const SILENCE_DB = -50;
/** Minimum length of a silence, in seconds. Shorter ones are pauses between words. */
const PAUSE_SECONDS = 0.3;
/** Tolerance for durations, in seconds. Covers rounding to whole frames. */
const SLACK_SECONDS = 0.05;

export async function findFlaws(
  { path, signal }: Pick<Candidate, "path" | "signal">,
  checks: Checks,
): Promise<readonly string[]> {
  const found = await probe(path, { name: "the output", signal });
  const flaws = [...sizeFlaws(found, checks), ...(await lookedFlaws(found, checks, signal))];
  // A judge may cost money, so do not ask it about a file that is already rejected.
  if (checks.judge === undefined || flaws.length > 0) return flaws;
  if (found.video === null) return ["it has no images to judge"];
  const frames = await framesOf(found, found.video, signal);
  const { judge } = checks;
  const judged = await (typeof judge === "function" ? judge(frames, signal) : askLanguageModel(judge, frames, signal));
  return reasonsIn(judged, "judge");
}

function sizeFlaws({ seconds, video }: Probed, { seconds: range, size }: Checks): readonly string[] {
  const flaws: string[] = [];
  const [least, most] = range ?? [0, Number.POSITIVE_INFINITY];
  if (seconds < least - SLACK_SECONDS || seconds > most + SLACK_SECONDS)
    flaws.push(`it is ${say(seconds)} long; expected ${least} to ${most} s`);
  const found = video === null ? "no video" : `${video.width}x${video.height}`;
  if (size !== undefined && found !== size) flaws.push(`it has ${found}; expected ${size}`);
  return flaws;
}

async function lookedFlaws(found: Probed, checks: Checks, signal: AbortSignal): Promise<readonly string[]> {
  const limits = limitsOf(checks);
  const wantsSound = limits.silent !== null || checks.speech === true;
  const wantsPictures = limits.black !== null || limits.frozen !== null;
  const lacks = [
    ...(wantsSound && found.audio === null ? ["it has no audio"] : []),
    ...(wantsPictures && found.video === null ? ["it has no video"] : []),
  ];
  if (lacks.length > 0) return lacks;
  const isStill = found.video?.isStill === true;
  const pictures = isStill ? stillFilters(limits) : filmFilters(limits);
  const log = await filtered(found, pictures, limits.silent === null ? null : [SILENCE_DB, limits.silent], signal);
  if (isStill) return /pblack:\d/.test(log) ? ["it is black"] : [];
  const { seconds } = found;
  return [
    ...spansOf(log, "black", seconds).map((span) => `it is black ${during(span)}`),
    ...spansOf(log, "frozen", seconds).map((span) => `its video is frozen ${during(span)}`),
    ...spansOf(log, "silent", seconds).map((span) => `it is silent ${during(span)}`),
    ...(checks.speech === true ? await speechFlaws(found, signal) : []),
  ];
}

async function speechFlaws(found: Probed, signal: AbortSignal): Promise<readonly string[]> {
  // Use a separate pass, because some ffmpeg versions do not distinguish the output of two filters of the same kind.
  const log = await filtered(found, [], [SPEECH_DB, PAUSE_SECONDS], signal);
  const all = found.audio?.seconds ?? 0;
  const audible = Math.max(0, all - lengthOf(spansOf(log, "silent", all)));
  return audible >= all / 3 ? [] : [`it has no speech: only ${say(audible)} of its audio is as loud as speech`];
}

async function filtered(
  { path }: Probed,
  pictures: readonly string[],
  silence: readonly [noiseDb: number, seconds: number] | null,
  signal: AbortSignal,
): Promise<string> {
  if (pictures.length === 0 && silence === null) return "";
  const sound = silence === null ? null : `silencedetect=noise=${silence[0]}dB:d=${silence[1]}`;
  const args = [
    ...(pictures.length === 0 ? ["-vn"] : ["-map", "0:v:0", "-vf", pictures.join()]),
    ...(sound === null ? ["-an"] : ["-map", "0:a:0", "-af", sound]),
  ];
  return runFfmpeg({ inputs: [{ path, name: "the output" }], args, target: null, isVerbose: true, signal });
}

function filmFilters({ black, frozen }: Limits): readonly string[] {
  return [
    ...(black === null ? [] : [`blackdetect=d=${black}:pix_th=0.1`]),
    ...(frozen === null ? [] : [`freezedetect=n=-60dB:d=${frozen}`]),
  ];
}

function stillFilters({ black }: Limits): readonly string[] {
  return black === null ? [] : ["blackframe=amount=98:threshold=32"];
}

const during = ({ from, to }: Span) => `from ${say(from)} to ${say(to)}`;
const say = (seconds: number) => `${Number(seconds.toFixed(1))} s`;

interface Span {
  readonly from: number;
  readonly to: number;
}

const WORDS = {
  black: [/black_start:\s*(-?[\d.]+)/, /black_end:\s*(-?[\d.]+)/],
  frozen: [/freeze_start:\s*(-?[\d.]+)/, /freeze_end:\s*(-?[\d.]+)/],
  silent: [/silence_start:\s*(-?[\d.]+)/, /silence_end:\s*(-?[\d.]+)/],
} as const;

function spansOf(log: string, what: keyof typeof WORDS, seconds: number): readonly Span[] {
  const [start, end] = WORDS[what];
  const spans: Span[] = [];
  let from: number | null = null;
  for (const line of log.split("\n")) {
    const begun = start.exec(line)?.[1];
    if (begun !== undefined) from = Math.max(0, Number(begun));
    const ended = end.exec(line)?.[1];
    if (ended === undefined || from === null) continue;
    spans.push({ from, to: Math.min(seconds, Number(ended)) });
    from = null;
  }
  return from === null ? spans : [...spans, { from, to: seconds }];
}

const lengthOf = (spans: readonly Span[]) => spans.reduce((sum, { from, to }) => sum + to - from, 0);

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
