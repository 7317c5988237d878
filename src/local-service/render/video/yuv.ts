/**
 * Turns RGBA into planar YUV 4:2:0, BT.709 with limited range, as players expect of HD video. Chroma is the mean of four
 * pixels. Integer arithmetic in one pass; `width` and `height` are even.
 */
export function rgbaToYuv(rgba: Uint8Array | Uint8ClampedArray, width: number, height: number, yuv: Uint8Array): void {
  const stride = width * 4;
  const pixels = width * height;
  let u = pixels;
  let v = pixels + (pixels >> 2);
  for (let row = 0; row < height; row += 2) {
    let at = row * stride;
    let below = at + stride;
    let top = row * width;
    let bottom = top + width;
    for (let column = 0; column < width; column += 2) {
      const r0 = rgba[at] as number;
      const g0 = rgba[at + 1] as number;
      const b0 = rgba[at + 2] as number;
      const r1 = rgba[at + 4] as number;
      const g1 = rgba[at + 5] as number;
      const b1 = rgba[at + 6] as number;
      const r2 = rgba[below] as number;
      const g2 = rgba[below + 1] as number;
      const b2 = rgba[below + 2] as number;
      const r3 = rgba[below + 4] as number;
      const g3 = rgba[below + 5] as number;
      const b3 = rgba[below + 6] as number;
      yuv[top] = (11966 * r0 + 40254 * g0 + 4064 * b0 + 1081344) >> 16;
      yuv[top + 1] = (11966 * r1 + 40254 * g1 + 4064 * b1 + 1081344) >> 16;
      yuv[bottom] = (11966 * r2 + 40254 * g2 + 4064 * b2 + 1081344) >> 16;
      yuv[bottom + 1] = (11966 * r3 + 40254 * g3 + 4064 * b3 + 1081344) >> 16;
      const r = r0 + r1 + r2 + r3;
      const g = g0 + g1 + g2 + g3;
      const b = b0 + b1 + b2 + b3;
      yuv[u++] = (-6596 * r - 22189 * g + 28784 * b + 33685504) >> 18;
      yuv[v++] = (28784 * r - 26145 * g - 2639 * b + 33685504) >> 18;
      at += 8;
      below += 8;
      top += 2;
      bottom += 2;
    }
  }
}

/** The inverse, for inspecting a decoded frame; `stride` is the luma row length, which may exceed `width`. */
export function yuvToRgba(
  yuv: Uint8Array,
  stride: number,
  rows: number,
  width: number,
  height: number,
): Uint8ClampedArray {
  const rgba = new Uint8ClampedArray(width * height * 4);
  const uBase = stride * rows;
  const vBase = uBase + (uBase >> 2);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const luma = 1.16438 * ((yuv[y * stride + x] ?? 16) - 16);
      const chroma = (y >> 1) * (stride >> 1) + (x >> 1);
      const u = (yuv[uBase + chroma] ?? 128) - 128;
      const v = (yuv[vBase + chroma] ?? 128) - 128;
      const at = (y * width + x) * 4;
      rgba[at] = luma + 1.79274 * v;
      rgba[at + 1] = luma - 0.21325 * u - 0.53291 * v;
      rgba[at + 2] = luma + 2.1124 * u;
      rgba[at + 3] = 255;
    }
  }
  return rgba;
}
