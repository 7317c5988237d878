import { Graph, layout } from "@dagrejs/dagre";

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

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Placed {
  readonly key: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly points: readonly Point[];
}

export interface Drawing {
  readonly nodes: ReadonlyMap<string, Placed>;
  readonly arrows: readonly Arrow[];
  readonly width: number;
  readonly height: number;
}

export interface Sketch {
  readonly nodes: readonly { readonly key: string; readonly width: number; readonly height: number }[];
  readonly arrows: readonly (readonly [from: string, to: string])[];
  readonly direction: "LR" | "TB";
}

const MARGIN = 28;
const MOST_CAREFUL = 220;

export function draw(sketch: Sketch): Drawing {
  return sketch.nodes.length <= MOST_CAREFUL ? careful(sketch) : quick(sketch);
}

function careful({ nodes, arrows, direction }: Sketch): Drawing {
  const graph = new Graph();
  graph.setGraph({
    rankdir: direction,
    nodesep: 26,
    ranksep: direction === "LR" ? 64 : 48,
    marginx: MARGIN,
    marginy: MARGIN,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { key, width, height } of nodes) graph.setNode(key, { width, height });
  for (const [from, to] of arrows) graph.setEdge(from, to);
  layout(graph);
  const turned = isReversed(nodes, graph, direction) ? mirrored(graph, direction) : (point: Point) => point;
  const placed = new Map<string, Placed>();
  for (const { key, width, height } of nodes) {
    const { x, y } = turned(graph.node(key) as Point);
    placed.set(key, { key, x: x - width / 2, y: y - height / 2, width, height });
  }
  const pointsOf = ([from, to]: readonly [string, string]) =>
    (graph.edge(from, to) as { readonly points: readonly Point[] }).points.map(turned);
  const isLong = (arrow: readonly [string, string]) => pointsOf(arrow).length > 3;
  putInOrder(placed, { nodes, arrows, direction }, new Set(arrows.filter(isLong).flat()));
  const drawn = arrows.map(([from, to]) => {
    const points = pointsOf([from, to]);
    const [first, last] = straight(placed.get(from)!, placed.get(to)!, direction === "LR");
    // Longer arrows keep their bends, which lead around other nodes.
    return { from, to, points: points.length > 3 ? [first, ...points.slice(1, -1), last] : [first, last] };
  });
  return { nodes: placed, arrows: drawn, ...extent(placed) };
}

function isReversed(nodes: Sketch["nodes"], graph: Graph, direction: Sketch["direction"]): boolean {
  const [main, cross] = direction === "LR" ? (["x", "y"] as const) : (["y", "x"] as const);
  const last = new Map<number, number>();
  let balance = 0;
  for (const { key } of nodes) {
    const place = graph.node(key) as Point;
    const before = last.get(place[main]);
    if (before !== undefined) balance += Math.sign(place[cross] - before);
    last.set(place[main], place[cross]);
  }
  return balance < 0;
}

function mirrored(graph: Graph, direction: Sketch["direction"]): (point: Point) => Point {
  const { width, height } = graph.graph() as { readonly width: number; readonly height: number };
  return direction === "LR" ? ({ x, y }) => ({ x, y: height - y }) : ({ x, y }) => ({ x: width - x, y });
}

/** Puts nodes that have the same rank, size and neighbors in the order of the plan. */
function putInOrder(
  placed: Map<string, Placed>,
  { nodes, arrows, direction }: Sketch,
  fixed: ReadonlySet<string>,
): void {
  const ties = new Map<string, string[]>(nodes.map(({ key }) => [key, []]));
  for (const [from, to] of arrows) {
    ties.get(from)!.push(`>${to}`);
    ties.get(to)!.push(`<${from}`);
  }
  const free = nodes.flatMap(({ key }) => (fixed.has(key) ? [] : placed.get(key)!));
  const alike = Map.groupBy(free, ({ key, x, y, width, height }) => {
    const rank = Math.round(direction === "LR" ? x : y);
    return `${rank} ${width} ${height} ${ties.get(key)!.sort().join()}`;
  });
  for (const group of alike.values()) {
    const slots = group.map(({ x, y }) => ({ x, y })).sort((a, b) => a.y - b.y || a.x - b.x);
    for (const [index, node] of group.entries()) placed.set(node.key, { ...node, ...slots[index]! });
  }
}

function quick({ nodes, arrows, direction }: Sketch): Drawing {
  const needs = new Map<string, string[]>();
  for (const [from, to] of arrows) needs.set(to, [...(needs.get(to) ?? []), from]);
  const depths = new Map<string, number>();
  const depthOf = (key: string, trail: ReadonlySet<string>): number => {
    const known = depths.get(key);
    if (known !== undefined || trail.has(key)) return known ?? 0;
    const below = new Set(trail).add(key);
    const depth = Math.max(-1, ...(needs.get(key) ?? []).map((need) => depthOf(need, below))) + 1;
    depths.set(key, depth);
    return depth;
  };
  const offsets: number[] = [];
  const placed = new Map<string, Placed>();
  const isWide = direction === "LR";
  for (const { key, width, height } of nodes) {
    const depth = depthOf(key, new Set());
    const across = offsets[depth] ?? MARGIN;
    offsets[depth] = across + (isWide ? height : width) + 20;
    const along = MARGIN + depth * (isWide ? width + 80 : height + 60);
    placed.set(key, { key, x: isWide ? along : across, y: isWide ? across : along, width, height });
  }
  const drawn = arrows.map(([from, to]) => ({
    from,
    to,
    points: straight(placed.get(from)!, placed.get(to)!, isWide),
  }));
  return { nodes: placed, arrows: drawn, ...extent(placed) };
}

function straight(from: Placed, to: Placed, isWide: boolean): readonly [Point, Point] {
  return isWide
    ? [
        { x: from.x + from.width, y: from.y + from.height / 2 },
        { x: to.x, y: to.y + to.height / 2 },
      ]
    : [
        { x: from.x + from.width / 2, y: from.y + from.height },
        { x: to.x + to.width / 2, y: to.y },
      ];
}

function extent(placed: ReadonlyMap<string, Placed>): { readonly width: number; readonly height: number } {
  let width = 0;
  let height = 0;
  for (const node of placed.values()) {
    width = Math.max(width, node.x + node.width + MARGIN);
    height = Math.max(height, node.y + node.height + MARGIN);
  }
  return { width, height };
}

export function curve(points: readonly Point[], direction: "LR" | "TB"): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let from = first;
  let path = `M${round(first)}`;
  for (const to of rest) {
    const middle = direction === "LR" ? (from.x + to.x) / 2 : (from.y + to.y) / 2;
    const one = direction === "LR" ? { x: middle, y: from.y } : { x: from.x, y: middle };
    const two = direction === "LR" ? { x: middle, y: to.y } : { x: to.x, y: middle };
    path += `C${round(one)} ${round(two)} ${round(to)}`;
    from = to;
  }
  return path;
}

function round({ x, y }: Point): string {
  return `${Math.round(x * 10) / 10},${Math.round(y * 10) / 10}`;
}
