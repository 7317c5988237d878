import { type DiagramOptions, traitsOf } from "../../core/plan/index.ts";
import type { Plan, PlanStep } from "../../index.ts";
import { curve, draw, type Placed } from "./page/graph/layout.ts";

const BOX = { width: 168, height: 46 };
const MAX_CHARACTERS = 24;

const STYLE = `
  .step rect { fill: #fff; stroke: #5b6470; stroke-width: 1.25 }
  .step .name { font: 600 12px system-ui, sans-serif; fill: #1b1f24 }
  .step .note { font: 11px system-ui, sans-serif; fill: #59636e }
  .upload rect { stroke-dasharray: 4 3 } .task rect { stroke-dasharray: 1 2 } .value rect { fill: #f2f4f6 }
  .approve rect { stroke: #7c3aed; stroke-width: 2 } .expand rect { stroke-width: 3; stroke-dasharray: 8 3 }
  .image rect { fill: #eaf3ff } .video rect { fill: #eefbef } .audio rect { fill: #fff6e5 } .voice rect { fill: #f7eeff }
  .critical rect { stroke: #c2410c; stroke-width: 2.5 }
  .edge { fill: none; stroke: #8c959f; stroke-width: 1.25 }
  .edge.critical { stroke: #c2410c; stroke-width: 2 }`;

export function planSvg({ pipeline, steps }: Plan, { note, highlighted = [] }: DiagramOptions = {}): string {
  const critical = new Set(highlighted);
  const { nodes, arrows, width, height } = draw({
    nodes: steps.map(({ path }) => ({ key: path, ...BOX })),
    arrows: steps.flatMap(({ path, needs }) => needs.map((need) => [need, path] as const)),
    direction: "LR",
  });
  const edges = arrows.map(({ from, to, points }) => {
    const marked = critical.has(from) && critical.has(to) ? " critical" : "";
    return `<path class="edge${marked}" d="${curve(points, "LR")}"/>`;
  });
  const boxes = steps.map((step) =>
    box(step, nodes.get(step.path)!, note?.(step) ?? traitsOf(step).note, critical.has(step.path)),
  );
  const count = steps.length === 1 ? "1 step" : `${steps.length} steps`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${text(pipeline)}: ${count}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    ...edges,
    ...boxes,
    "</svg>",
    "",
  ].join("\n");
}

function box(step: PlanStep, { x, y }: Placed, note: string, isCritical: boolean): string {
  const classes = ["step", step.kind, step.yields, isCritical ? "critical" : null].filter(Boolean).join(" ");
  return [
    `<g class="${classes}" transform="translate(${x} ${y})">`,
    `<title>${text(`${step.path}: ${note}`)}</title>`,
    `<rect width="${BOX.width}" height="${BOX.height}" rx="8"/>`,
    `<text class="name" x="10" y="19">${text(cut(step.path))}</text>`,
    `<text class="note" x="10" y="36">${text(cut(note))}</text>`,
    "</g>",
  ].join("");
}

function cut(value: string): string {
  const characters = [...value];
  return characters.length <= MAX_CHARACTERS ? value : `${characters.slice(0, MAX_CHARACTERS - 1).join("")}…`;
}

function text(value: string): string {
  return value.replace(/\p{Cc}/gu, " ").replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}
