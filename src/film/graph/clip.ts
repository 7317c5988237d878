import { stat } from "node:fs/promises";
import { basename } from "node:path";
import PQueue from "p-queue";
import { findFfmpeg, requireFfmpeg, toInstall } from "../ffmpeg/abilities.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import {
  mostSeconds,
  type Probed,
  type ProbedVideo,
  plainError,
  probe,
  readingAtMost,
  tooLong,
  walkPackets,
} from "../ffmpeg/probe.ts";
import { hdrName, TONE_MAPPING } from "../ffmpeg/shown.ts";
import { sizeFault } from "./frame.ts";
import { type Ends, fitLength, type LengthOption } from "./length.ts";

export interface Clip extends Probed {
  readonly name: string;
  readonly video: ProbedVideo;
}

const MOST_FPS = 120;
/** Maximum duration of one frame, as a fraction of the maximum duration of the file. */
const MOST_OF_ONE_FRAME = 1 / 60;
/**
 * Maximum number of seconds by which the duration in a file's header may exceed that of its frames. If it exceeds it by
 * more, the file is incomplete.
 */
const MOST_APART = 0.5;

/** Reads all packets of a clip without decoding them. @throws FilmError if the clip is incomplete or too long */
export async function openClip(path: string, name: string, signal?: AbortSignal): Promise<Clip> {
  const probed = await probe(path, { name, signal });
  const { video } = probed;
  if (video === null) throw new FilmError("CLIP_DAMAGED", `${name} has no video`);
  await checkToneMapping(video, name);
  if (video.isStill) return { ...probed, name, video };
  const fault = sizeFault(video);
  if (fault !== null) throw new FilmError("CLIP_DAMAGED", `${name} has ${fault}`);
  const pictures = await walkPictures(probed, name, signal);
  // If the file states only its total duration, its audio may be longer than its video.
  const stated = video.isOwnLength || probed.audio === null ? video.seconds : null;
  const lacks = (stated ?? 0) - pictures.seconds > MOST_APART;
  if (lacks && !probed.isOpenEnded) {
    const mismatch = `its video ends at ${pictures.seconds.toFixed(1)} s, but the file states a duration of ${stated!.toFixed(1)} s`;
    throw new FilmError("CLIP_DAMAGED", `${name} is damaged: ${mismatch}`);
  }
  // Screen recorders add a frame only when something moves, so the last frame may last long.
  const seconds = lacks ? stated! : pictures.seconds;
  const shown = { ...video, fps: video.fps || pictures.fps, seconds: pictures.seconds };
  return { ...probed, name, video: shown, seconds };
}

/** A clip that is shown for `lasts` seconds, whatever the lengths of its video and audio. */
export interface Lasting extends Clip {
  readonly lasts: number;
  readonly lengthNote: string | null;
}

export async function openLasting(
  path: string,
  name: string,
  { length }: LengthOption,
  signal: AbortSignal,
): Promise<Lasting> {
  const clip = await openClip(path, name, signal);
  const ends = { seconds: clip.seconds, sound: clip.audio?.seconds ?? null };
  const { seconds, note } = fitLength(`the audio of ${name}`, ends, length);
  return { ...clip, lasts: seconds, lengthNote: note };
}

/** Limits how many files are examined at a time. A plan may have thousands of files, and each one needs a process. */
const looking = new PQueue({ concurrency: 4 });
const looked = new Map<string, Promise<Looked | null>>();
const MOST_LOOKED = 1000;
/** Time limit for examining one file, in milliseconds. It is short so that other files do not have to wait long. */
const LOOK_MS = 10_000;

type Looked = Ends | { readonly fault: string };

export async function lookAt(path: string): Promise<Looked | null> {
  const [found, ffmpeg] = await Promise.all([stat(path).catch(() => null), findFfmpeg()]);
  if (found === null || ffmpeg === null) return null;
  const key = [path, found.mtimeMs, found.size, ffmpeg.path].join("\0");
  if (looked.size >= MOST_LOOKED) looked.clear();
  const answer = looked.get(key) ?? looking.add(() => readingAtMost(Number.POSITIVE_INFINITY, () => endsOf(path)));
  looked.set(key, answer);
  const ends = await answer;
  if (ends === null) looked.delete(key);
  return ends;
}

async function endsOf(path: string): Promise<Looked | null> {
  const name = basename(path);
  try {
    const { seconds, video, audio } = await probe(path, { name, signal: AbortSignal.timeout(LOOK_MS) });
    if (video !== null) await checkToneMapping(video, name);
    return { seconds, sound: video === null ? null : (audio?.seconds ?? null) };
  } catch (error) {
    if (!(error instanceof FilmError)) throw error;
    // A timeout on a busy machine says nothing about the file.
    return error.code === "FFMPEG_TIMEOUT" || error.code === "FFMPEG_STOPPED" ? null : { fault: error.message };
  }
}

async function checkToneMapping({ colors }: ProbedVideo, name: string): Promise<void> {
  const hdr = hdrName(colors);
  const { filters, path, version } = await requireFfmpeg();
  const lacking = TONE_MAPPING.filter((filter) => !filters.has(filter));
  if (hdr === null || lacking.length === 0) return;
  const built = `${path} (${version}) was built without ${lacking.join(" and ")}, which tone mapping needs`;
  throw new FilmError("FFMPEG_MISSING", `${name} is HDR (${hdr}), but ${built}. ${toInstall()}`);
}

async function walkPictures({ path, begins }: Probed, name: string, signal: AbortSignal | undefined) {
  const { first, end, count, longest, fault } = await walkPackets(path, "V:0", { begins, signal });
  if (fault !== null) throw new FilmError("CLIP_DAMAGED", `${name} is damaged: ${plainError(fault, path)}`);
  if (!(end > first)) throw new FilmError("CLIP_DAMAGED", `${name} is damaged: it contains no frames`);
  const most = mostSeconds();
  if (longest > most * MOST_OF_ONE_FRAME) throw tooLong(name, `shows a single frame for ${Math.round(longest)} s`);
  if (end - begins > most) throw tooLong(name, `is ${Math.round(end - begins)} s long`);
  if (count > most * MOST_FPS) throw tooLong(name, `has ${count} frames`);
  const seconds = end - Math.max(0, first);
  return { seconds, fps: count / seconds };
}
