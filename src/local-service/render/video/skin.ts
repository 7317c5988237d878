/** Pixels of a picture in RGBA. */
export interface Pixels {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

export type Rgb = readonly [red: number, green: number, blue: number];

/** A patch of skin-coloured pixels: its box in pixels, and how much of the box it fills. */
export interface Patch {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly fill: number;
}

const CELLS = 110;

export function pixelAt({ data, width, height }: Pixels, x: number, y: number): Rgb {
  const column = Math.max(0, Math.min(width - 1, Math.round(x)));
  const row = Math.max(0, Math.min(height - 1, Math.round(y)));
  const i = (row * width + column) * 4;
  return [data[i] ?? 0, data[i + 1] ?? 0, data[i + 2] ?? 0];
}

/** The largest connected patch of skin that could be a head: compact, upright, not spanning the whole picture. */
export function headPatch(pixels: Pixels): Patch | null {
  const step = Math.max(1, Math.min(pixels.width, pixels.height) / CELLS);
  const columns = Math.floor(pixels.width / step);
  const rows = Math.floor(pixels.height / step);
  const open = new Uint8Array(columns * rows);
  for (let i = 0; i < open.length; i++) {
    open[i] = isSkin(pixelAt(pixels, (i % columns) * step, Math.floor(i / columns) * step)) ? 1 : 0;
  }
  let best: Patch | null = null;
  for (let i = 0; i < open.length; i++) {
    if (open[i] !== 1) continue;
    const patch = flood(open, columns, rows, i, step);
    if (isHead(patch, pixels) && (best === null || patch.width * patch.height > best.width * best.height)) best = patch;
  }
  return best;
}

function flood(open: Uint8Array, columns: number, rows: number, from: number, step: number): Patch {
  const stack = [from];
  let [left, right, top, bottom, count] = [columns, 0, rows, 0, 0];
  open[from] = 0;
  for (let cell = stack.pop(); cell !== undefined; cell = stack.pop()) {
    const [x, y] = [cell % columns, Math.floor(cell / columns)];
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
    count++;
    for (const [nx, ny] of [
      [x - 1, y],
      [x + 1, y],
      [x, y - 1],
      [x, y + 1],
    ] as const) {
      const next = ny * columns + nx;
      if (nx < 0 || ny < 0 || nx >= columns || ny >= rows || open[next] !== 1) continue;
      open[next] = 0;
      stack.push(next);
    }
  }
  const [width, height] = [right - left + 1, bottom - top + 1];
  return {
    left: left * step,
    top: top * step,
    width: width * step,
    height: height * step,
    fill: count / (width * height),
  };
}

function isHead({ width, height, fill }: Patch, pixels: Pixels): boolean {
  const share = (width * height) / (pixels.width * pixels.height);
  const upright = height / width;
  return share > 0.012 && width < pixels.width * 0.75 && upright > 0.85 && upright < 2.8 && fill > 0.45 && fill < 0.93;
}

function isSkin([r, g, b]: Rgb): boolean {
  const cb = 128 - 0.169 * r - 0.331 * g + 0.5 * b;
  const cr = 128 + 0.5 * r - 0.419 * g - 0.081 * b;
  return r > 60 && cb > 77 && cb < 127 && cr > 136 && cr < 173 && r > g && g > b * 0.9;
}
