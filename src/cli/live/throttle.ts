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
