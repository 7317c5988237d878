import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useSize } from "./hooks.ts";

interface Props<T> {
  readonly items: readonly T[];
  readonly rowHeight: number;
  readonly label: string;
  readonly class?: string;
  readonly sticksToEnd?: boolean;
  readonly onEnd?: (() => void) | null;
  readonly children: (item: T, index: number) => ComponentChildren;
}

const EXTRA_ROWS = 12;

export function VirtualList<T>({
  items,
  rowHeight,
  label,
  class: name = "",
  sticksToEnd = false,
  onEnd = null,
  children,
}: Props<T>) {
  const [box, { height }] = useSize<HTMLElement>();
  const atEnd = useRef(true);
  const [top, setTop] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (sticksToEnd && atEnd.current && element !== null) element.scrollTop = element.scrollHeight;
  }, [items.length]);
  const last = Math.ceil((top + height) / rowHeight);
  useEffect(() => {
    if (last >= items.length) onEnd?.();
  }, [last >= items.length, items.length]);
  const scrolled = () => {
    const element = box.current!;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < rowHeight * 2;
    setTop(element.scrollTop);
  };
  const first = Math.max(0, Math.floor(top / rowHeight) - EXTRA_ROWS);
  const shown = items.slice(first, last + EXTRA_ROWS);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <section ref={box} class={`virtual ${name}`} onScroll={scrolled} tabIndex={0} aria-label={label}>
      <ol style={{ height: `${items.length * rowHeight}px` }}>
        {shown.map((item, offset) => (
          <li
            key={first + offset}
            aria-posinset={first + offset + 1}
            aria-setsize={items.length}
            style={{ height: `${rowHeight}px`, top: `${(first + offset) * rowHeight}px` }}
          >
            {children(item, first + offset)}
          </li>
        ))}
      </ol>
    </section>
  );
}
