import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";

export type Program = "ffmpeg" | "ffprobe";

/**
 * Where a program is: what `FFMPEG_PATH` or `FFPROBE_PATH` names, for ffprobe also beside the ffmpeg of `FFMPEG_PATH`, else on
 * PATH. Null: nowhere.
 */
export async function findProgram(name: Program, env: NodeJS.ProcessEnv = process.env): Promise<string | null> {
  const own = name === "ffmpeg" ? env.FFMPEG_PATH : env.FFPROBE_PATH;
  if (own !== undefined && own !== "") return (await isProgram(own)) ? own : null;
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

/** The command that installs ffmpeg here. */
export function installCommand(platform: NodeJS.Platform = process.platform): string {
  if (platform === "darwin") return "brew install ffmpeg";
  if (platform === "win32") return "winget install Gyan.FFmpeg";
  return "sudo apt-get install ffmpeg";
}
