import { requireFfmpeg } from "./abilities.ts";
import { inputArgs } from "./input-args.ts";
import { runProgram } from "./run-program.ts";

const TIMEOUT_MS = 20_000;

export interface Packets {
  readonly first: number;
  readonly end: number;
  readonly count: number;
  readonly longest: number;
  readonly fault: string | null;
}

export async function walkPackets(
  path: string,
  stream: "V:0" | "a:0",
  { begins, signal }: { readonly begins: number; readonly signal?: AbortSignal | undefined },
): Promise<Packets> {
  const { probePath } = await requireFfmpeg();
  const entries = [
    "-select_streams",
    stream,
    "-show_entries",
    "packet=pts_time,dts_time,duration_time,flags",
    "-of",
    "csv=p=0",
  ];
  let [first, last, ends, rest] = [Number.POSITIVE_INFINITY, 0, 0, ""];
  let [count, shown, longest, delay, joint] = [0, begins, 0, 0, 0];
  const onOutput = (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [presented = "", decoded, duration, flags = ""] = line.split(",");
      // MPEG-PS states few presentation times, and ffprobe adds empty lines.
      const stated = presented === "N/A" ? Number(decoded) + delay : Number.parseFloat(presented);
      if (flags.includes("D") || !Number.isFinite(stated)) continue;
      delay = stated - Number(decoded) || 0;
      // Recordings joined in one Ogg file each have their own clock.
      if (stream === "a:0" && stated + joint < shown - 1) joint = ends - stated;
      const at = stated + joint;
      first = Math.min(first, at);
      count += 1;
      longest = Math.max(longest, at - shown, Number(duration) || 0);
      shown = Math.max(shown, at);
      last = Math.max(last, at);
      ends = Math.max(ends, at + (Number(duration) || 0));
    }
  };
  const args = ["-v", "error", ...entries, ...(await inputArgs(path))];
  const { exitCode, stderr } = await runProgram(probePath, args, { timeoutMs: TIMEOUT_MS, signal, onOutput });
  const isCut = /partial file|prematurely|truncat|corrupt|invalid/i.test(stderr);
  // Recorders do not state the last packet's duration, so use the average.
  const end = ends > last || count < 2 ? ends : last + (last - first) / (count - 1);
  return { first, end, count, longest, fault: exitCode !== 0 || isCut ? stderr : null };
}
