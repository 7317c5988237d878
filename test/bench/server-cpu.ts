import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

/**
 * Milliseconds of processor time that a PostgreSQL server and its processes used so far, those that ended included. Null
 * where the system has no /proc to read it from.
 */
export function serverCpuMs(dataFolder: string): number | null {
  if (process.platform !== "linux") return null;
  const [main] = readFileSync(join(dataFolder, "postmaster.pid"), "utf8").split("\n");
  let ticks = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const fields = statOf(pid);
    if (pid !== main && fields?.[1] !== main) continue;
    ticks += Number(fields![11]) + Number(fields![12]);
    // Of its children that ended.
    if (pid === main) ticks += Number(fields![13]) + Number(fields![14]);
  }
  return ticks * TICK_MS;
}

/** What follows the name of the process: its state, its parent … Null: it has just ended. */
function statOf(pid: string): readonly string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}
