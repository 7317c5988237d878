import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";
import { FilmError } from "./film-error.ts";
import { runProgram } from "./run-program.ts";

export interface Ffmpeg {
  readonly path: string;
  readonly probePath: string;
  readonly version: string;
  readonly filters: ReadonlySet<string>;
  readonly encoders: ReadonlySet<string>;
  readonly decoders: ReadonlySet<string>;
}

const known = new Map<string, Promise<Ffmpeg>>();

/** Finds ffmpeg, and determines what it supports. Returns null if ffmpeg or ffprobe is missing or cannot be started. */
export async function findFfmpeg(): Promise<Ffmpeg | null> {
  const [path, probePath] = await Promise.all([findProgram("ffmpeg"), findProgram("ffprobe")]);
  if (path === null || probePath === null) return null;
  const key = [path, probePath, (await stat(path)).mtimeMs].join("\0");
  const found = known.get(key) ?? ask(path, probePath);
  known.set(key, found);
  return found.catch(() => {
    known.delete(key);
    return null;
  });
}

export async function requireFfmpeg(): Promise<Ffmpeg> {
  const found = await findFfmpeg();
  if (found === null) throw new FilmError("FFMPEG_MISSING", `${await whyMissing()}. ${toInstall()}`);
  return found;
}

export async function whyMissing(): Promise<string> {
  const ffmpeg = await findProgram("ffmpeg");
  if (ffmpeg === null && process.env.FFMPEG_PATH)
    return `FFMPEG_PATH is ${process.env.FFMPEG_PATH}, which is not an executable file`;
  if (ffmpeg === null) return "ffmpeg was not found: it is not on PATH, and FFMPEG_PATH is not set";
  if ((await findProgram("ffprobe")) === null) return `ffprobe was not found next to ${ffmpeg} or on PATH`;
  return `${ffmpeg} cannot be started`;
}

export function toInstall(): string {
  return `Install it with ${installCommand()}, or set FFMPEG_PATH`;
}

async function ask(path: string, probePath: string): Promise<Ffmpeg> {
  const outputOf = async (...args: readonly string[]) => {
    const { exitCode, stdout, stderr } = await runProgram(path, ["-hide_banner", ...args], { timeoutMs: 20_000 });
    if (exitCode !== 0) throw new FilmError("FFMPEG_MISSING", `${path} ${args.join(" ")} failed: ${stderr.trim()}`);
    return stdout;
  };
  const [version, filters, encoders, codecs] = await Promise.all(
    ["-version", "-filters", "-encoders", "-codecs"].map((flag) => outputOf(flag)) as [Output, Output, Output, Output],
  );
  return {
    path,
    probePath,
    version: /^ffmpeg version (\S+)/.exec(version)?.[1] ?? "unknown version",
    filters: names(filters, /^ [T.][S.][C.]? +(\S+) +\S*->/gm),
    encoders: names(encoders, /^ [VAS][A-Z.]{5} +([^\s=]+)/gm),
    decoders: names(codecs, /^ D[A-Z.]{5} +([^\s=]+)/gm),
  };
}

type Output = Promise<string>;

function names(text: string, line: RegExp): ReadonlySet<string> {
  return new Set([...text.matchAll(line)].map(([, name]) => name!));
}

type Program = "ffmpeg" | "ffprobe";

/** Finds a program. Also looks for ffprobe next to the ffmpeg that `FFMPEG_PATH` names. */
async function findProgram(name: Program, env: NodeJS.ProcessEnv = process.env): Promise<string | null> {
  const named = name === "ffmpeg" ? env.FFMPEG_PATH : env.FFPROBE_PATH;
  if (named !== undefined && named !== "") return (await isProgram(named)) ? named : null;
  const file = process.platform === "win32" ? `${name}.exe` : name;
  const beside = name === "ffprobe" && env.FFMPEG_PATH ? [dirname(env.FFMPEG_PATH)] : [];
  const folders = [...beside, ...(env.PATH ?? "").split(delimiter).filter((folder) => folder !== "")];
  for (const folder of folders) {
    const path = join(folder, file);
    if (await isProgram(path)) return path;
  }
  return null;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

function installCommand(platform: NodeJS.Platform = process.platform): string {
  if (platform === "darwin") return "brew install ffmpeg";
  if (platform === "win32") return "winget install Gyan.FFmpeg";
  return "sudo apt-get install ffmpeg";
}
