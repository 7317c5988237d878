/** Dollars with at least two decimals, and up to four where they matter. */
export function usd(micros: number | null): string {
  if (micros === null) return "–";
  const dollars = micros / 1e6;
  const most = micros % 10_000 === 0 ? 2 : 4;
  return new Intl.NumberFormat("en-US", {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: 2,
    maximumFractionDigits: most,
  }).format(dollars);
}

/** A stretch of time in the two units that say most: `850 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`. */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  const rest = Math.floor(seconds % 60);
  if (minutes < 60) return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** How long ago, roughly. */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, (now - at) / 1000);
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 30 * 86_400) return `${Math.round(seconds / 86_400)} d ago`;
  return new Date(at).toISOString().slice(0, 10);
}

export function clockTime(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB", { hour12: false });
}

export function dateTime(at: number): string {
  return new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 1e6) return `${(size / 1000).toFixed(0)} kB`;
  return size < 1e9 ? `${(size / 1e6).toFixed(1)} MB` : `${(size / 1e9).toFixed(2)} GB`;
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${new Intl.NumberFormat("en-US").format(number)} ${number === 1 ? one : many}`;
}
