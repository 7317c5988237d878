import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { bundlesOf, MOST_SINGLE } from "../../views/groups.ts";
import type { RunModel } from "../state/run-store.ts";
import { Button, IconButton } from "../ui/bits.tsx";
import { count } from "../ui/format.ts";
import { type Box, useSize } from "../ui/hooks.ts";
import { curve, type Drawing, draw, neighbour, type Placed } from "./layout.ts";
import { GraphNode, NODE_WIDTH, nodeHeight } from "./node.tsx";

interface Props {
  readonly model: Pick<RunModel, "steps" | "progress" | "groups">;
  readonly count?: number;
  readonly step: string | null;
  readonly group: string | null;
  readonly onOpen: (step: string | null) => void;
  readonly onGroup: (group: string | null) => void;
  readonly longest?: readonly string[];
}

const SMALLEST = 0.2;
const LARGEST = 1.6;
/**
 * The smallest zoom at which the graph is fitted into the view. A smaller zoom would make names unreadable, so the view
 * scrolls instead.
 */
const LEAST_FIT = 0.7;
/** A wide screen shows up to this many nodes at once, even if that makes their names unreadable. */
const MOST_WHOLE = 30;
const WIDE = 720;
const AHEAD = 300;

export function GraphTab({
  model,
  count: total = model.steps.size,
  step,
  group,
  onOpen,
  onGroup,
  longest = [],
}: Props) {
  const { steps, groups } = model;
  const isLong = groups === null && steps.size > MOST_SINGLE;
  const [isGrouped, setGrouped] = useState(isLong);
  const [box, size] = useSize<HTMLDivElement>();
  const direction = size.width === 0 || size.width > WIDE ? "LR" : "TB";
  const bundles = useMemo(() => bundlesOf({ steps, groups }, isLong && isGrouped), [steps, groups, isLong, isGrouped]);
  const shape = bundles.map(({ key, count, needs }) => `${key} ${count} ${needs.join()}`).join("\n");
  const drawing = useMemo(
    () =>
      draw({
        nodes: bundles.map((one) => ({ key: one.key, width: NODE_WIDTH, height: nodeHeight(one) })),
        arrows: bundles.flatMap(({ key, needs }) => needs.map((need) => [need, key] as const)),
        direction,
      }),
    [shape, direction],
  );
  const [scale, setScale] = useState<number | null>(null);
  const [view, setView] = useState({ x: 0, y: 0 });
  const fit = fitting(drawing, size);
  const zoom = scale ?? fit;
  const chosen = group ?? step;
  const isNear = (from: string, to: string) =>
    from === chosen || to === chosen || (longest.includes(from) && longest[longest.indexOf(from) + 1] === to);

  useZoomWheel(box, zoom, setScale);
  useDrag(box);
  useLayoutEffect(() => {
    if (chosen !== null) reveal(box.current, drawing.nodes.get(chosen), zoom);
  }, [chosen, drawing]);

  const isSeen = (node: Placed) => {
    const { x, y } = view;
    const right = (x + size.width + AHEAD) / zoom;
    const bottom = (y + size.height + AHEAD) / zoom;
    return (
      node.x < right &&
      node.y < bottom &&
      node.x + node.width > (x - AHEAD) / zoom &&
      node.y + node.height > (y - AHEAD) / zoom
    );
  };
  const walk = (from: string, event: KeyboardEvent) => {
    const to = neighbour(drawing, from, event.key, direction);
    if (to === null) return;
    event.preventDefault();
    reveal(box.current, drawing.nodes.get(to), zoom);
    requestAnimationFrame(() =>
      box.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(to)}"]`)?.focus({ preventScroll: true }),
    );
  };
  const shown = bundles.filter(({ key }) => {
    const node = drawing.nodes.get(key);
    return node !== undefined && (bundles.length <= MOST_SINGLE || isSeen(node));
  });
  const shownKeys = new Set(shown.map(({ key }) => key));
  const zooms = [
    ["Zoom out", "minus", zoom / 1.25],
    ["Zoom in", "plus", zoom * 1.25],
    ["Fit graph to view", "fit", wholly(drawing, size)],
  ] as const;

  return (
    <div class="graph">
      <section
        ref={box}
        class="canvas"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
        tabIndex={0}
        aria-label={`Graph of ${count(total, "step")}; arrow keys move between steps`}
        onScroll={(event) => setView({ x: event.currentTarget.scrollLeft, y: event.currentTarget.scrollTop })}
      >
        <div class="sheet" style={{ width: `${drawing.width * zoom}px`, height: `${drawing.height * zoom}px` }}>
          <div
            class="scaled"
            style={{ width: `${drawing.width}px`, height: `${drawing.height}px`, transform: `scale(${zoom})` }}
          >
            <svg class="arrows" width={drawing.width} height={drawing.height} aria-hidden="true">
              {drawing.arrows
                .filter(({ from, to }) => shownKeys.has(from) || shownKeys.has(to))
                .map(({ from, to, points }) => (
                  <path key={`${from}\n${to}`} class={isNear(from, to) ? "near" : ""} d={curve(points, direction)} />
                ))}
            </svg>
            {shown.map((one) => (
              <GraphNode
                key={one.key}
                bundle={one}
                box={drawing.nodes.get(one.key)!}
                isChosen={one.key === chosen || (one.count === 1 && one.key === step)}
                progress={model.progress}
                onOpen={() => (one.count > 1 ? onGroup(one.key) : onOpen(one.key))}
                onKey={(event) => walk(one.key, event)}
              />
            ))}
          </div>
        </div>
      </section>
      <div class="tools">
        {isLong && (
          <Button
            label="Group similar steps"
            look="small"
            aria-pressed={isGrouped}
            onClick={() => setGrouped(!isGrouped)}
          />
        )}
        {zooms.map(([label, icon, to]) => (
          <IconButton
            key={icon}
            label={label}
            icon={icon}
            look="small"
            onClick={() => setScale(Math.min(LARGEST, Math.max(SMALLEST, to)))}
          />
        ))}
      </div>
    </div>
  );
}

function wholly(drawing: Drawing, size: Box): number {
  if (size.width === 0) return 1;
  return Math.min(1, size.width / drawing.width, size.height / drawing.height);
}

function fitting(drawing: Drawing, size: Box): number {
  const isWhole = size.width > WIDE && drawing.nodes.size <= MOST_WHOLE;
  return Math.max(isWhole ? SMALLEST : LEAST_FIT, wholly(drawing, size));
}

type BoxRef = { readonly current: HTMLDivElement | null };

/** Zooms when the wheel is turned with Ctrl pressed. Browsers report a pinch gesture as the same event. */
function useZoomWheel(box: BoxRef, zoom: number, setScale: (scale: number) => void): void {
  const latest = useRef(zoom);
  latest.current = zoom;
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const turned = (event: WheelEvent) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      setScale(Math.min(LARGEST, Math.max(SMALLEST, latest.current * Math.exp(-event.deltaY / 300))));
    };
    element.addEventListener("wheel", turned, { passive: false });
    return () => element.removeEventListener("wheel", turned);
  }, []);
}

/** Lets users scroll the graph by dragging it with the mouse. On touch screens, the browser does this itself. */
function useDrag(box: BoxRef): void {
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let last: { readonly x: number; readonly y: number } | null = null;
    const down = (event: PointerEvent) => {
      if (event.pointerType !== "mouse" || event.button !== 0 || (event.target as Element).closest("button") !== null)
        return;
      last = { x: event.clientX, y: event.clientY };
      element.setPointerCapture(event.pointerId);
      element.classList.add("dragged");
    };
    const move = (event: PointerEvent) => {
      if (last === null) return;
      element.scrollBy(last.x - event.clientX, last.y - event.clientY);
      last = { x: event.clientX, y: event.clientY };
    };
    const up = () => {
      last = null;
      element.classList.remove("dragged");
    };
    const over = new AbortController();
    const { signal } = over;
    element.addEventListener("pointerdown", down, { signal });
    element.addEventListener("pointermove", move, { signal });
    element.addEventListener("pointerup", up, { signal });
    element.addEventListener("pointercancel", up, { signal });
    return () => over.abort();
  }, []);
}

function reveal(element: HTMLElement | null, node: Placed | undefined, zoom: number): void {
  if (element === null || node === undefined) return;
  const [left, top] = [node.x * zoom, node.y * zoom];
  const [right, bottom] = [left + node.width * zoom, top + node.height * zoom];
  const isSeen =
    left >= element.scrollLeft &&
    top >= element.scrollTop &&
    right <= element.scrollLeft + element.clientWidth &&
    bottom <= element.scrollTop + element.clientHeight;
  if (!isSeen)
    element.scrollTo(
      left + (node.width * zoom - element.clientWidth) / 2,
      top + (node.height * zoom - element.clientHeight) / 2,
    );
}
