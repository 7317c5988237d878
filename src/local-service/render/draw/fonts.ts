import { createRequire } from "node:module";
import { GlobalFonts } from "@napi-rs/canvas";

const require = createRequire(import.meta.url);
const FILES: readonly (readonly [family: string, file: string])[] = [
  ["Render Inter", "@fontsource/inter/files/inter-latin-500-normal.woff2"],
  ["Render Inter Ext", "@fontsource/inter/files/inter-latin-ext-500-normal.woff2"],
  ["Render Inter Cyrillic", "@fontsource/inter/files/inter-cyrillic-500-normal.woff2"],
  ["Render Inter Greek", "@fontsource/inter/files/inter-greek-500-normal.woff2"],
  ["Render DejaVu", "dejavu-fonts-ttf/ttf/DejaVuSans.ttf"],
];

/** A CSS font value of our own font files; the machine's fonts are never used, so text looks the same everywhere. */
export function fontOf(sizePx: number): string {
  for (const [family, file] of FILES) {
    if (!GlobalFonts.has(family)) GlobalFonts.registerFromPath(require.resolve(file), family);
  }
  return `${sizePx.toFixed(1)}px ${FILES.map(([family]) => `"${family}"`).join(", ")}`;
}
