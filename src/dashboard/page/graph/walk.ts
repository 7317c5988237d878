import type { Drawing, Placed } from "./layout.ts";

/** The node that an arrow key leads to: along the arrows one way, to the nearest beside it the other way. */
export function neighbour(drawing: Drawing, from: string, key: string, direction: "LR" | "TB"): string | null {
  const here = drawing.nodes.get(from);
  if (here === undefined) return null;
  const [ahead, back, after, before] =
    direction === "LR"
      ? ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"]
      : ["ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft"];
  const along = key === ahead || key === back;
  if (along) {
    const linked = drawing.arrows.flatMap((arrow) =>
      key === ahead ? (arrow.from === from ? arrow.to : []) : arrow.to === from ? arrow.from : [],
    );
    return nearest(
      here,
      linked.flatMap((path) => drawing.nodes.get(path) ?? []),
    );
  }
  if (key !== after && key !== before) return null;
  const sign = key === after ? 1 : -1;
  const [main, cross] = direction === "LR" ? (["y", "x"] as const) : (["x", "y"] as const);
  const beside = [...drawing.nodes.values()].filter(
    (node) => sign * (node[main] - here[main]) > 0 && Math.abs(centre(node)[cross] - centre(here)[cross]) < 120,
  );
  return nearest(here, beside);
}

function nearest(here: Placed, among: readonly Placed[]): string | null {
  const distance = (node: Placed) => Math.hypot(centre(node).x - centre(here).x, centre(node).y - centre(here).y);
  return [...among].sort((a, b) => distance(a) - distance(b))[0]?.key ?? null;
}

function centre({ x, y, width, height }: Placed) {
  return { x: x + width / 2, y: y + height / 2 };
}
