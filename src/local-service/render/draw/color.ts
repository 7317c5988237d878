/** "#rrggbb". */
export type Color = string;

type Rgb = readonly [number, number, number];

/** The colour part of the way from `from` (0) to `to` (1). */
export function mix(from: Color, to: Color, amount: number): Color {
  const [a, b] = [parse(from), parse(to)];
  return format([0, 1, 2].map((i) => (a[i] ?? 0) + ((b[i] ?? 0) - (a[i] ?? 0)) * amount));
}

export const lighter = (color: Color, amount: number): Color => mix(color, "#ffffff", amount);
export const darker = (color: Color, amount: number): Color => mix(color, "#0a0a1a", amount);

/** The colour with an opacity from 0 to 1, as CSS. */
export function alpha(color: Color, opacity: number): string {
  const [r, g, b] = parse(color);
  return `rgba(${r}, ${g}, ${b}, ${opacity.toFixed(3)})`;
}

export function rgb(r: number, g: number, b: number): Color {
  return format([r, g, b]);
}

function parse(color: Color): Rgb {
  const value = Number.parseInt(color.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

function format(channels: readonly number[]): Color {
  const text = channels.map((channel) =>
    Math.round(Math.min(255, Math.max(0, channel)))
      .toString(16)
      .padStart(2, "0"),
  );
  return `#${text.join("")}`;
}
