import { UnmarkableError } from "./unmarkable.ts";

/** A box, chunk, segment or frame: what its format is made of. */
export interface Box {
  readonly type: string;
  /** Where its header begins. */
  readonly at: number;
  readonly dataAt: number;
  readonly dataEnd: number;
  /** Where the next one begins: after padding and checksum. */
  readonly end: number;
}

/** More than a film of some hours in fragments has; each costs one read. */
const MOST_BOXES = 65_536;

/**
 * The boxes from `at` to `end`, each as `boxAt` reads it; null ends the walk. Every step leads forward and none leads out,
 * so a walk over hostile bytes ends too. @throws UnmarkableError
 */
export async function walk<B extends Box>(
  at: number,
  end: number,
  boxAt: (at: number) => Promise<B | null>,
): Promise<readonly B[]> {
  const boxes: B[] = [];
  for (let next = at; next < end; ) {
    const box = await boxAt(next);
    if (box === null) break;
    const isSound = box.end > next && box.end <= end && box.dataAt <= box.dataEnd && box.dataEnd <= box.end;
    if (!isSound) throw new UnmarkableError(`it is damaged at byte ${next}`);
    if (boxes.length === MOST_BOXES) throw new UnmarkableError(`it has more than ${MOST_BOXES} parts`);
    boxes.push(box);
    next = box.end;
  }
  return boxes;
}
