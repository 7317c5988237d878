import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { open } from "../../core/kit/files.ts";
import { closedWavBegin, readWavHeader } from "../../core/kit/media-headers.ts";
import { requireFfmpeg } from "./abilities.ts";
import { FilmError } from "./film-error.ts";
import { inputArgs, isPictureFormat } from "./input-args.ts";
import { plainError } from "./probe.ts";
import { DEFAULT_TIMEOUT_MS, runProgram } from "./run-program.ts";

const MOST_BYTES = 8 * 1024 ** 3;

export interface FfmpegCall {
  /** Input files, in the order in which filters number them. `name` is used in error messages. */
  readonly inputs: readonly {
    readonly path: string;
    readonly name: string;
    readonly args?: readonly string[] | undefined;
    /** The file's demuxer. Set it only for files that Showrunner wrote. Default: detected from the first bytes. */
    readonly demuxer?: string | undefined;
  }[];
  readonly args: readonly string[];
  readonly target: string | null;
  readonly seconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((fraction: number) => void) | undefined;
  readonly cwd?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxBytes?: number | undefined;
  readonly isVerbose?: boolean | undefined;
  /** True to fail on a frame that cannot be decoded. Default true. */
  readonly isStrict?: boolean | undefined;
}

/**
 * Arguments that make the output deterministic. They leave out ffmpeg's version, the current time and the metadata of
 * the inputs.
 */
const EXACT = ["-map_metadata", "-1", "-map_chapters", "-1", "-fflags", "+bitexact", "-flags", "+bitexact"];

/** Makes ffmpeg fail on a damaged frame instead of drawing it gray. */
const STRICT = ["-err_detect", "explode"];
/**
 * Returns the arguments that make reading strict. TIFF files get none, because a strict reader would fail on unknown
 * tags such as the orientation.
 */
const strictFor = (input: readonly string[]) => (input.includes("tiff_pipe") ? [] : STRICT);

/**
 * Arguments that make ffmpeg read a still image as one second of video. Automatic rotation is off, because it differs
 * between ffmpeg versions. A filter rotates the image later.
 */
const STILL = ["-noautorotate", "-framerate", "1"];

/** Runs ffmpeg and returns its messages. @throws FilmError, which names the input if it is damaged */
export async function runFfmpeg(given: FfmpegCall): Promise<string> {
  await using closed = await closedInputs(given.inputs, given.target === null ? tmpdir() : dirname(given.target));
  return await callFfmpeg({ ...given, inputs: closed.inputs });
}

async function callFfmpeg(call: FfmpegCall): Promise<string> {
  const { path } = await requireFfmpeg();
  const { inputs, target, isVerbose = false, isStrict = true, maxBytes = MOST_BYTES } = call;
  const opened = await Promise.all(
    inputs.map(async (input) => {
      const file = await inputArgs(input.path, input.demuxer);
      const still = file.some((word) => isPictureFormat(word)) ? STILL : [];
      return [...(isStrict ? strictFor(file) : []), ...still, ...(input.args ?? []), ...file];
    }),
  );
  const args = [
    ...["-hide_banner", "-nostdin", "-y", "-loglevel", isVerbose ? "info" : "error"],
    ...["-nostats", "-progress", "pipe:1", ...(isStrict ? ["-xerror"] : [])],
    ...opened.flat(),
    ...call.args,
    ...(target === null ? ["-f", "null", "-"] : [...EXACT, "-fs", String(maxBytes), `file:${target}`]),
  ];
  const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = call;
  const onOutput = progressReader(call);
  const { exitCode, stderr } = await runProgram(path, args, { signal, timeoutMs, onOutput, cwd: call.cwd });
  if (exitCode !== 0) throw diskError(stderr, call) ?? (await failure(stderr, call, path));
  if (target !== null && (await stat(target)).size >= maxBytes - SLACK_BYTES)
    throw new FilmError("FFMPEG_TOO_LARGE", `ffmpeg's output exceeds ${maxBytes} bytes`);
  return stderr;
}

/**
 * A result this close to the size limit is incomplete, because ffmpeg stops before the packet that would exceed the
 * limit.
 */
const SLACK_BYTES = 4096;

function progressReader({ seconds, onProgress }: FfmpegCall): ((text: string) => void) | undefined {
  if (seconds === undefined || !(seconds > 0) || onProgress === undefined) return undefined;
  return (text) => {
    const [, microseconds] = [...text.matchAll(/^out_time_us=(\d+)/gm)].at(-1) ?? [];
    if (microseconds !== undefined) onProgress(Math.min(1, Number(microseconds) / 1e6 / seconds));
  };
}

const DISK_ERRORS = [
  ["ENOSPC", /no space left on device/i],
  ["EDQUOT", /dis[ck] quota exceeded/i],
] as const;

/** Returns a Node error if ffmpeg reports a full disk, so that the run waits for space instead of failing. */
function diskError(stderr: string, { target }: FfmpegCall): Error | null {
  const [code] = DISK_ERRORS.find(([, words]) => words.test(stderr)) ?? [];
  if (code === undefined || target === null) return null;
  return Object.assign(new Error(`ffmpeg failed: ${plainError(stderr)}`), { code, path: target });
}

/**
 * Returns the error for a failed call of ffmpeg. Decodes each input separately to find a damaged one, because ffmpeg's
 * messages do not reliably name it.
 */
async function failure(stderr: string, { inputs, signal }: FfmpegCall, ffmpeg: string): Promise<FilmError> {
  for (const { path, name, demuxer } of inputs) {
    const input = await inputArgs(path, demuxer);
    const args = [...strictFor(input), ...input, "-f", "null", "-"];
    const alone = await runProgram(ffmpeg, ["-v", "error", "-nostdin", "-xerror", ...args], { signal });
    if (alone.exitCode !== 0)
      return new FilmError("CLIP_DAMAGED", `${name} is damaged: ${plainError(alone.stderr, path)}`);
  }
  return new FilmError("FFMPEG_FAILED", `ffmpeg failed: ${plainError(stderr)}`);
}

const BEGIN_BYTES = 65_536;

/**
 * Replaces some inputs with corrected copies: WAV files whose header states no size, and MP3 files with ID3 tags
 * between frames.
 */
async function closedInputs<I extends { readonly path: string }>(
  inputs: readonly I[],
  folder: string,
): Promise<{ readonly inputs: readonly I[] } & AsyncDisposable> {
  const copies: string[] = [];
  const remove = async () => {
    for (const copy of copies) await rm(copy, { force: true });
  };
  try {
    const closed: I[] = [];
    for (const input of inputs) {
      const pieces = (await openWavPieces(input.path)) ?? (await untaggedMp3(input.path));
      if (pieces === null) closed.push(input);
      else {
        const path = join(folder, randomUUID());
        copies.push(path);
        await pipeline(pieces, createWriteStream(path));
        closed.push({ ...input, path });
      }
    }
    return { inputs: closed, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function* piecesOf(path: string, begin: Buffer): AsyncGenerator<Buffer> {
  yield begin;
  yield* createReadStream(path, { start: begin.length });
}

async function openWavPieces(path: string): Promise<AsyncGenerator<Buffer> | null> {
  await using file = await open(path, "r").catch(() => null);
  if (file === null) return null;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(BEGIN_BYTES), 0, BEGIN_BYTES, 0);
  const begin = buffer.subarray(0, bytesRead);
  const header = readWavHeader(begin, (await file.stat()).size);
  return header?.isOpen === true ? piecesOf(path, closedWavBegin(begin, header)) : null;
}

/**
 * Maximum size of an MP3 file from which stray ID3 tags are removed. An MP3 of the maximum length is smaller than this
 * even at the highest bit rate.
 */
const MOST_MP3_BYTES = 512 * 1024 * 1024;

async function untaggedMp3(path: string): Promise<readonly Buffer[] | null> {
  const args: readonly string[] = await inputArgs(path).catch(() => []);
  if (!args.includes("mp3") || (await stat(path)).size > MOST_MP3_BYTES) return null;
  const bytes = await readFile(path);
  const tagEnd = (at: number) => at + 10 + bytes.subarray(at + 6, at + 10).reduce((sum, byte) => sum * 128 + byte, 0);
  const isTag = (at: number) => bytes[at + 3]! <= 4 && bytes[at + 4] === 0 && bytes[tagEnd(at)] === 0xff;
  const parts: Buffer[] = [];
  let from = bytes.indexOf("ID3") === 0 ? tagEnd(0) : 0;
  for (let at = bytes.indexOf("ID3", from); at >= 0; at = bytes.indexOf("ID3", at + 3)) {
    if (at < from || !isTag(at)) continue;
    parts.push(bytes.subarray(from, at));
    from = tagEnd(at);
  }
  return parts.length === 0 ? null : [...parts, bytes.subarray(from)];
}
