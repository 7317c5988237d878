/** Plots as SVG, drawn from figures alone. Each brings its own ground and follows the reader's light or dark. */
import { formatNumber, median } from "./stats.ts";

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328; }
  .ground { fill: #ffffff; } .axis { stroke: #c5ccd3; } .soft { fill: #59636e; } .title { font-weight: 600; }
  .ours { fill: #0b66c3; } .other { fill: #9aa4af; } .range { stroke: #1f2328; }
  .c0 { color: #0b66c3; } .c1 { color: #b25000; } .c2 { color: #1a7f37; } .c3 { color: #8250df; } .c4 { color: #cf222e; } .c5 { color: #6e7781; } .c6 { color: #9a6700; }
  polyline { stroke: currentColor; fill: none; stroke-width: 2; } circle, .label { fill: currentColor; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .ground { fill: #0d1117; } .axis { stroke: #3d444d; } .soft { fill: #9198a1; }
    .ours { fill: #58a6ff; } .other { fill: #6e7681; } .range { stroke: #e6edf3; }
    .c0 { color: #58a6ff; } .c1 { color: #f0883e; } .c2 { color: #3fb950; } .c3 { color: #bc8cff; } .c4 { color: #ff7b72; } .c5 { color: #9198a1; } .c6 { color: #d29922; }
    circle, .label { fill: currentColor; }
  }`;

function svg(width: number, height: number, title: string, body: readonly string[]): string {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`;
  const ground = `<rect class="ground" width="${width}" height="${height}" rx="6"/>`;
  return [head, `<title>${escaped(title)}</title>`, `<style>${STYLE}\n</style>`, ground, ...body, "</svg>", ""].join(
    "\n",
  );
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const at = (value: number) => String(Math.round(value * 10) / 10);

function text(
  x: number,
  y: number,
  content: string,
  classes = "",
  anchor: "start" | "middle" | "end" = "start",
): string {
  return `<text x="${at(x)}" y="${at(y)}" class="${classes}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

function line(x1: number, y1: number, x2: number, y2: number, kind = "axis"): string {
  return `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" class="${kind}"/>`;
}

export interface Bars {
  readonly title: string;
  readonly bars: readonly { readonly name: string; readonly samples: readonly number[]; readonly isOurs: boolean }[];
}

/** A panel for each, one below the other: medians as bars, with the range of the rounds. */
export function barPlot(title: string, unit: string, panels: readonly Bars[]): string {
  const [width, left, right, row] = [720, 250, 70, 20];
  const body: string[] = [];
  let y = 14;
  for (const { title: name, bars } of panels) {
    const most = Math.max(...bars.flatMap(({ samples }) => samples));
    const scale = (value: number) => left + (value / most) * (width - left - right);
    y += 14;
    body.push(text(14, y, name, "title"));
    y += 8;
    for (const bar of bars) {
      const middle = y + row / 2;
      const value = median(bar.samples);
      const [low, high] = [Math.min(...bar.samples), Math.max(...bar.samples)];
      body.push(text(left - 8, middle + 4, bar.name, bar.isOurs ? "title" : "", "end"));
      const kind = bar.isOurs ? "ours" : "other";
      body.push(
        `<rect x="${left}" y="${at(middle - 7)}" width="${at(scale(value) - left)}" height="14" class="${kind}"/>`,
      );
      if (high > low) body.push(line(scale(low), middle, scale(high), middle, "range"));
      body.push(text(scale(high) + 6, middle + 4, formatNumber(value), "soft"));
      y += row;
    }
    body.push(line(left, y - bars.length * row, left, y));
    y += 8;
  }
  body.push(text(left, y + 10, `${unit}; bar: median, line: range of the rounds`, "soft"));
  return svg(width, y + 24, title, body);
}

export interface Line {
  readonly name: string;
  readonly points: readonly { readonly size: number; readonly value: number }[];
}

const compact = (value: number) => value.toLocaleString("en", { notation: "compact" });

/** Both axes by powers of ten: what grows in proportion to the steps rises by one for each one to the right. */
export function growthPlot(title: string, [xName, yName]: readonly [string, string], lines: readonly Line[]): string {
  const [width, height, left, right, top, bottom] = [720, 340, 70, 200, 20, 48];
  const powers = (values: readonly number[]) => {
    const logs = values.filter((value) => value > 0).map(Math.log10);
    return [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))] as const;
  };
  const all = lines.flatMap(({ points }) => points);
  const [x0, x1] = powers(all.map(({ size }) => size));
  const [y0, y1] = powers(all.map(({ value }) => value));
  const x = (size: number) => left + ((Math.log10(size) - x0) / (x1 - x0)) * (width - left - right);
  const y = (value: number) => height - bottom - ((Math.log10(value) - y0) / (y1 - y0)) * (height - top - bottom);
  const body: string[] = [];
  for (let power = x0; power <= x1; power += 1) {
    body.push(line(x(10 ** power), top, x(10 ** power), height - bottom));
    body.push(text(x(10 ** power), height - bottom + 16, (10 ** power).toLocaleString("en"), "soft", "middle"));
  }
  for (let power = y0; power <= y1; power += 1) {
    body.push(line(left, y(10 ** power), width - right, y(10 ** power)));
    body.push(text(left - 8, y(10 ** power) + 4, compact(10 ** power), "soft", "end"));
  }
  body.push(text((left + width - right) / 2, height - 10, xName, "soft", "middle"));
  body.push(
    `<text transform="translate(14 ${(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle" class="soft">${escaped(yName)}</text>`,
  );
  const labels = lines.map(({ points }, index) => ({ index, y: y(points.at(-1)!.value) })).sort((a, b) => a.y - b.y);
  let lowest = 0;
  for (const { index, y: wanted } of labels) {
    const { name, points } = lines[index]!;
    const color = `c${index % 7}`;
    const path = points.map(({ size, value }) => `${at(x(size))},${at(y(value))}`).join(" ");
    body.push(`<polyline points="${path}" class="${color}"/>`);
    for (const { size, value } of points)
      body.push(`<circle cx="${at(x(size))}" cy="${at(y(value))}" r="3" class="${color}"/>`);
    const free = Math.max(wanted, lowest + 15);
    lowest = free;
    body.push(text(x(points.at(-1)!.size) + 8, free + 4, name, `label ${color}`));
  }
  return svg(width, height, title, body);
}
