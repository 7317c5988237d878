const LINE_EVERY_MS = 2000;

/** Lets a line through every few seconds, so that long work is seen to move. */
export function throttle(): (say: () => void) => void {
  let lastAt = Date.now();
  return (say) => {
    if (Date.now() - lastAt < LINE_EVERY_MS) return;
    lastAt = Date.now();
    say();
  };
}
