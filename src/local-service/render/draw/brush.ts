import { type Canvas, createCanvas, type Image, type SKRSContext2D } from "@napi-rs/canvas";
import type { Size } from "../size.ts";

export type Color = string;

export type Rgb = readonly [red: number, green: number, blue: number];

export function mix(from: Color, to: Color, amount: number): Color {
  const [a, b] = [parse(from), parse(to)];
  return format([0, 1, 2].map((i) => (a[i] ?? 0) + ((b[i] ?? 0) - (a[i] ?? 0)) * amount));
}

export const lighter = (color: Color, amount: number): Color => mix(color, "#ffffff", amount);
export const darker = (color: Color, amount: number): Color => mix(color, "#0a0a1a", amount);

export function alpha(color: Color, opacity: number): string {
  const [r, g, b] = parse(color);
  return `rgba(${r}, ${g}, ${b}, ${opacity.toFixed(3)})`;
}

export function rgb(...channels: Rgb): Color {
  return format(channels);
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

export type Context = SKRSContext2D;
export type Surface = Canvas;
export type Gradient = ReturnType<Context["createLinearGradient"]>;

export function vertical(context: Context, from: number, to: number, colors: readonly string[]): Gradient {
  const gradient = context.createLinearGradient(0, from, 0, to);
  for (const [i, color] of colors.entries()) gradient.addColorStop(i / (colors.length - 1), color);
  return gradient;
}

export function band(context: Context, { width, height }: Size, from: number, fill: string | Gradient): void {
  context.fillStyle = fill;
  context.fillRect(0, from, width, height - from);
}

export function glow(context: Context, x: number, y: number, radius: number, color: Color, opacity: number): void {
  const gradient = context.createRadialGradient(x, y, 0, x, y, radius);
  gradient.addColorStop(0, alpha(color, opacity));
  gradient.addColorStop(0.5, alpha(color, opacity * 0.35));
  gradient.addColorStop(1, alpha(color, 0));
  context.fillStyle = gradient;
  context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
}

export function disc(context: Context, x: number, y: number, radius: number, fill: string): void {
  oval(context, x, y, radius, radius, fill);
}

export function oval(context: Context, x: number, y: number, rx: number, ry: number, fill: string, angle = 0): void {
  context.fillStyle = fill;
  context.beginPath();
  context.ellipse(x, y, Math.abs(rx), Math.abs(ry), angle, 0, Math.PI * 2);
  context.fill();
}

export function slab(
  context: Context,
  x: number,
  y: number,
  width: number,
  height: number,
  radius: number,
  fill: string,
): void {
  context.fillStyle = fill;
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
  context.fill();
}

export function shape(context: Context, fill: string, corners: readonly (readonly [number, number])[]): void {
  context.fillStyle = fill;
  context.beginPath();
  for (const [x, y] of corners) context.lineTo(x, y);
  context.closePath();
  context.fill();
}

export function ridge(
  context: Context,
  { width, height }: Size,
  heights: readonly number[],
  fill: string | Gradient,
  round = true,
): void {
  const step = width / (heights.length - 1);
  context.fillStyle = fill;
  context.beginPath();
  context.moveTo(0, height);
  context.lineTo(0, heights[0] ?? height);
  for (let i = 1; i < heights.length; i++) {
    const [from, to] = [heights[i - 1] ?? 0, heights[i] ?? 0];
    const [x0, x1] = [(i - 1) * step, i * step];
    if (round) context.bezierCurveTo(x0 + step / 2, from, x1 - step / 2, to, x1, to);
    else context.lineTo(x1, to);
  }
  context.lineTo(width, height);
  context.closePath();
  context.fill();
}

export function drawCover(
  context: Context,
  picture: Image | Canvas,
  x: number,
  y: number,
  { width, height }: Size,
): void {
  const scale = Math.max(width / picture.width, height / picture.height);
  const [w, h] = [width / scale, height / scale];
  context.drawImage(picture, (picture.width - w) / 2, (picture.height - h) / 2, w, h, x, y, width, height);
}

export function coverOf(picture: Image | Canvas, size: Size): Canvas {
  const canvas = createCanvas(size.width, size.height);
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  drawCover(context, picture, 0, 0, size);
  return canvas;
}
