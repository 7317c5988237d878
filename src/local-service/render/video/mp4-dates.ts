const CONTAINERS = new Set(["moov", "trak", "mdia"]);
const DATED = new Set(["mvhd", "tkhd", "mdhd"]);

/** Zeroes the creation dates of an MP4 ("unknown"), so that the same content is the same bytes. Changes `file`. */
export function withoutDates(file: Uint8Array): Uint8Array {
  clear(new DataView(file.buffer, file.byteOffset, file.byteLength), 0, file.length);
  return file;
}

function clear(view: DataView, start: number, end: number): void {
  for (let at = start; at + 8 <= end; ) {
    const size = view.getUint32(at);
    if (size < 8) return;
    const name = String.fromCharCode(...[4, 5, 6, 7].map((i) => view.getUint8(at + i)));
    if (CONTAINERS.has(name)) clear(view, at + 8, Math.min(end, at + size));
    if (DATED.has(name)) clearDates(view, at + 8);
    at += size;
  }
}

function clearDates(view: DataView, at: number): void {
  const bytes = view.getUint8(at) === 1 ? 16 : 8;
  for (let i = 0; i < bytes; i++) view.setUint8(at + 4 + i, 0);
}
