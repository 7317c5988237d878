import { readFileSync } from "node:fs";
import type { FileKind } from "../../../../src/core/plan/plan.ts";
import { bytesIn } from "./sim-media.ts";

export { damageOf } from "./sim-media.ts";

/** Replaces the measurement of files in a thread; see files-in-memory.ts. */
export async function measureMedia(path: string, asked: FileKind | null): Promise<object> {
  const is = typeOf(path);
  const kind = asked ?? is?.split("/")[0];
  if (is === null || kind === undefined || !is.startsWith(kind))
    return { fault: `it is ${is ?? "of no known format"}` };
  const isTimed = kind !== "image";
  const size = kind === "audio" ? null : 64;
  return {
    contentType: is,
    width: size,
    height: size,
    durationMs: isTimed ? 500 : null,
    fps: kind === "video" ? 25 : null,
  };
}

function typeOf(path: string): string | null {
  const head = Buffer.from(bytesIn(path) ?? readFileSync(path)).toString("latin1", 0, 12);
  if (head.startsWith("\x89PNG")) return "image/png";
  if (head.startsWith("RIFF")) return "audio/wav";
  return head.slice(4, 8) === "ftyp" ? "video/mp4" : null;
}
