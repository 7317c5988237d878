/** Characters that stand for what was left out. */
const GAP = "…";

/** Two texts that differ, each cut to at most `width` characters around the place where they part. */
export function changeWindow(before: string, after: string, width: number): readonly [string, string] {
  const [a, b] = [[...before], [...after]];
  let same = 0;
  while (same < Math.min(a.length, b.length) && a[same] === b[same]) same += 1;
  // A third of the room goes to what leads up to it.
  const from = Math.max(a.length, b.length) <= width ? 0 : Math.max(0, same - Math.floor(width / 3));
  return [cut(a, from, width), cut(b, from, width)];
}

function cut(text: readonly string[], from: number, width: number): string {
  const start = Math.max(0, Math.min(from, text.length - width + GAP.length));
  const head = start > 0 ? GAP : "";
  const room = width - head.length;
  const rest = text.slice(start);
  return rest.length <= room ? head + rest.join("") : `${head}${rest.slice(0, room - GAP.length).join("")}${GAP}`;
}
