import type { Plan, PlanStep } from "../plan.ts";
import { type Cell, layOut } from "./layout.ts";
import { type DiagramOptions, noteOf } from "./options.ts";

/** Pixels. */
const BOX = { width: 168, height: 46 };
const GAP = { across: 56, down: 18 };
const MARGIN = 16;
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

/** The plan as a picture: a self-contained SVG document that needs no script and no font of its own. */
export function planSvg(plan: Plan, options: DiagramOptions = {}): string {
  const { cells, columns, rows } = layOut(plan);
  const highlighted = new Set(options.highlighted);
  const width = 2 * MARGIN + Math.max(1, columns) * (BOX.width + GAP.across) - GAP.across;
  const height = 2 * MARGIN + Math.max(1, rows) * (BOX.height + GAP.down) - GAP.down;
  const edges = plan.steps.flatMap(({ path, needs }) =>
    needs.map((needed) => {
      const isCritical = highlighted.has(path) && highlighted.has(needed);
      return edge(cells.get(needed)!, cells.get(path)!, isCritical);
    }),
  );
  const boxes = plan.steps.map((step) =>
    box(step, cells.get(step.path)!, {
      note: noteOf(step, options),
      classes: [options.classOf?.(step) ?? "", highlighted.has(step.path) ? "critical" : ""],
    }),
  );
  const count = plan.steps.length === 1 ? "1 step" : `${plan.steps.length} steps`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${text(plan.pipeline)}: ${count}</title>`,
    ...(options.unstyled ? [] : [`<style>${STYLE}\n</style>`, `<rect width="100%" height="100%" fill="#fff"/>`]),
    ...edges,
    ...boxes,
    "</svg>",
    "",
  ].join("\n");
}

function corner({ column, row }: Cell): { readonly x: number; readonly y: number } {
  return { x: MARGIN + column * (BOX.width + GAP.across), y: MARGIN + row * (BOX.height + GAP.down) };
}

interface Look {
  readonly note: string;
  readonly classes: readonly string[];
}

function box(step: PlanStep, cell: Cell, look: Look): string {
  const { x, y } = corner(cell);
  const classes = ["step", step.kind, step.yields, ...look.classes]
    .filter((name) => /^[\w-]+$/.test(name ?? ""))
    .join(" ");
  return [
    `<g class="${classes}" transform="translate(${x} ${y})">`,
    `<title>${text(`${step.path}: ${look.note}`)}</title>`,
    `<rect width="${BOX.width}" height="${BOX.height}" rx="8"/>`,
    `<text class="name" x="10" y="19">${text(cut(step.path))}</text>`,
    `<text class="note" x="10" y="36">${text(cut(look.note))}</text>`,
    "</g>",
  ].join("");
}

function edge(from: Cell, to: Cell, isCritical: boolean): string {
  const start = corner(from);
  const end = corner(to);
  const [x1, y1] = [start.x + BOX.width, start.y + BOX.height / 2];
  const [x2, y2] = [end.x, end.y + BOX.height / 2];
  const bend = GAP.across / 2;
  const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  return `<path class="edge${isCritical ? " critical" : ""}" d="${path}"/>`;
}

function cut(value: string): string {
  const characters = [...value];
  return characters.length <= MAX_CHARACTERS ? value : `${characters.slice(0, MAX_CHARACTERS - 1).join("")}…`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Text of a document: markup escaped, control characters, which XML cannot hold, as spaces. */
function text(value: string): string {
  return value.replace(/\p{Cc}/gu, " ").replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
