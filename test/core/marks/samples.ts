import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ffmpeg } from "../../support/media-programs.ts";

const picture = ["-f", "lavfi", "-i", "testsrc=s=65x33:r=10:d=0.5"];
const tone = ["-f", "lavfi", "-i", "sine=d=0.5"];
const film = [...picture, ...tone, "-c:v", "mpeg4", "-c:a", "aac"];
const one = ["-frames:v", "1"];

/** The ffmpeg arguments for each kind of file, by file name. */
const made = {
  "plain.png": [...picture, ...one],
  "plain.jpg": [...picture, ...one],
  "lossy.webp": [...picture, ...one, "-c:v", "libwebp"],
  "lossless.webp": [...picture, ...one, "-c:v", "libwebp", "-lossless", "1"],
  "alpha.webp": [
    ...picture,
    ...one,
    "-vf",
    "format=rgba,colorchannelmixer=aa=0.5",
    "-c:v",
    "libwebp",
    "-lossless",
    "1",
  ],
  "animated.webp": [...picture, "-c:v", "libwebp_anim"],
  "plain.mp4": film,
  "quick.mp4": [...film, "-movflags", "+faststart"],
  "fragments.mp4": [...film, "-movflags", "+frag_keyframe+empty_moov"],
  "plain.mov": film,
  "speech.m4a": [...tone, "-c:a", "aac"],
  "plain.wav": tone,
  "odd.wav": [...tone, "-c:a", "pcm_u8", "-t", "0.100125", "-ar", "8000"],
  "tagged.mp3": [...tone, "-metadata", "title=Boat", "-id3v2_version", "3"],
  "newer.mp3": [...tone, "-metadata", "title=Boat", "-id3v2_version", "4"],
  "bare.mp3": [...tone, "-id3v2_version", "0"],
} as const satisfies { readonly [name: string]: readonly string[] };

export type SampleName = keyof typeof made;
export const sampleNames = Object.keys(made) as readonly SampleName[];

export interface Samples extends AsyncDisposable {
  readonly folder: string;
  readonly path: (name: string) => string;
}

export async function makeSamples(names: readonly SampleName[] = sampleNames): Promise<Samples> {
  const folder = await mkdtemp(join(tmpdir(), "marks-"));
  const path = (name: string) => join(folder, name);
  for (const name of names) await ffmpeg(...made[name], path(name));
  return { folder, path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
