import { requireFfmpeg } from "../ffmpeg/abilities.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { inputArgs } from "../ffmpeg/input-args.ts";
import { mostSeconds, type Probed, type ProbedVideo, plainError, probe, tooLong } from "../ffmpeg/probe.ts";
import { runProgram } from "../ffmpeg/run-program.ts";
import { sizeFault } from "./size.ts";

/** A clip with pictures; `seconds` is where its last frame ends, by the frames and not by the header. */
export interface Clip extends Probed {
  readonly name: string;
  readonly video: ProbedVideo;
}

const TIMEOUT_MS = 20_000;
/** Frames a second of what is read, at most. */
const MOST_FPS = 120;
/** Of the seconds that a film may have, what one frame may be shown for: two minutes of two hours. */
const MOST_OF_ONE_FRAME = 1 / 60;
/** Where header and frames differ by more, the file is not whole, seconds. */
const MOST_APART = 0.5;

/** Opens a clip and walks through all of it without decoding. @throws FilmError where it is no whole film, or by its clock too long to be drawn */
export async function openClip(path: string, name: string, signal?: AbortSignal): Promise<Clip> {
  const probed = await probe(path, { name, signal });
  const { video } = probed;
  if (video === null) throw new FilmError("CLIP_DAMAGED", `${name} holds no pictures`);
  if (video.isStill) return { ...probed, name, video };
  const fault = sizeFault(video);
  if (fault !== null) throw new FilmError("CLIP_DAMAGED", `${name} is a film of ${fault}`);
  const seconds = await pictureSeconds(probed, name, signal);
  if (seconds < probed.seconds - MOST_APART) {
    const said = `its pictures end at ${seconds.toFixed(1)} s of ${probed.seconds.toFixed(1)} s`;
    throw new FilmError("CLIP_DAMAGED", `${name} is damaged: ${said}`);
  }
  return { ...probed, name, video, seconds };
}

async function pictureSeconds(
  { path, begins }: Probed,
  name: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { probePath } = await requireFfmpeg();
  const entries = ["-select_streams", "V:0", "-show_entries", "packet=pts_time,duration_time,flags", "-of", "csv=p=0"];
  let [first, last, rest] = [Number.POSITIVE_INFINITY, 0, ""];
  let [frames, shown, longest] = [0, begins, 0];
  const onOutput = (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [at, duration, flags = ""] = line.split(",");
      if (flags.includes("D") || !Number.isFinite(Number(at))) continue;
      first = Math.min(first, Number(at));
      frames += 1;
      longest = Math.max(longest, Number(at) - shown, Number(duration) || 0);
      shown = Math.max(shown, Number(at));
      last = Math.max(last, Number(at) + (Number(duration) || 0));
    }
  };
  const args = ["-v", "error", ...entries, ...(await inputArgs(path))];
  const { exitCode, stderr } = await runProgram(probePath, args, { timeoutMs: TIMEOUT_MS, signal, onOutput });
  const isCut = /partial file|prematurely|truncat|corrupt|invalid/i.test(stderr);
  if (exitCode !== 0 || isCut) throw new FilmError("CLIP_DAMAGED", `${name} is damaged: ${plainError(stderr, path)}`);
  if (!(last > first)) throw new FilmError("CLIP_DAMAGED", `${name} is damaged: it holds no pictures`);
  const most = mostSeconds();
  if (longest > most * MOST_OF_ONE_FRAME) throw tooLong(name, `shows one picture for ${Math.round(longest)} s`);
  if (last - begins > most) throw tooLong(name, `is ${Math.round(last - begins)} s long`);
  if (frames > most * MOST_FPS) throw tooLong(name, `has ${frames} frames`);
  return last - Math.max(0, first);
}
