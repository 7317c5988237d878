/**
 * Turns RGBA into planar YUV 4:2:0, BT.709 with limited range, as players expect of HD video. Chroma is the mean of four
 * pixels. Integer arithmetic in one pass, a pixel a load (little-endian); `width` and `height` are even.
 */
export function rgbaToYuv(rgba: Uint8Array | Uint8ClampedArray, width: number, height: number, yuv: Uint8Array): void {
  const pixels = new Uint32Array(rgba.buffer, rgba.byteOffset, width * height);
  let u = width * height;
  let v = u + (u >> 2);
  for (let row = 0; row < height; row += 2) {
    let top = row * width;
    let bottom = top + width;
    for (const end = bottom; top < end; top += 2, bottom += 2) {
      const a = pixels[top] as number;
      const b = pixels[top + 1] as number;
      const c = pixels[bottom] as number;
      const d = pixels[bottom + 1] as number;
      yuv[top] = luma(a);
      yuv[top + 1] = luma(b);
      yuv[bottom] = luma(c);
      yuv[bottom + 1] = luma(d);
      const redAndBlue = (a & 0xff00ff) + (b & 0xff00ff) + (c & 0xff00ff) + (d & 0xff00ff);
      const red = redAndBlue & 0xffff;
      const green = ((a >> 8) & 255) + ((b >> 8) & 255) + ((c >> 8) & 255) + ((d >> 8) & 255);
      const blue = redAndBlue >>> 16;
      yuv[u++] = (-6596 * red - 22189 * green + 28784 * blue + 33685504) >> 18;
      yuv[v++] = (28784 * red - 26145 * green - 2639 * blue + 33685504) >> 18;
    }
  }
}

const luma = (pixel: number) =>
  (11966 * (pixel & 255) + 40254 * ((pixel >> 8) & 255) + 4064 * ((pixel >> 16) & 255) + 1081344) >> 16;

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
