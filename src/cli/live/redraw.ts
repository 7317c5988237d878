import type { Io } from "../io.ts";

/** Some lines at the end of a terminal that are written over as they change. No line may be wider than the terminal. */
export interface Redraw {
  show(text: string): void;
  /** Takes the lines away. */
  clear(): void;
}

export function redrawOn(terminal: Io["stderr"]): Redraw {
  let shown = "";
  const replace = (next: string) => {
    if (next === shown) return;
    const up = shown.split("\n").length - 1;
    // Up to the first line, clear to the end of the screen: one write, so that nothing flickers.
    terminal.write(`${up > 0 ? `\x1b[${up}A` : ""}\x1b[0J${next}`);
    shown = next;
  };
  return { show: (text) => replace(`${text}\n`), clear: () => replace("") };
}

const LINE_EVERY_MS = 2000;

/** Prints a line every few seconds, so that long work shows progress. */
export function throttle(): (say: () => void) => void {
  let lastAt = Date.now();
  return (say) => {
    if (Date.now() - lastAt < LINE_EVERY_MS) return;
    lastAt = Date.now();
    say();
  };
}
