import type { RunUpdate } from "../../index.ts";
import type { Io } from "../io.ts";
import type { Talk } from "../talk.ts";
import { eventLine } from "./lines.ts";
import { applyUpdate, emptyView, type RunView } from "./run-view.ts";
import { renderTree } from "./tree.ts";

export interface WatchOptions {
  /** Events up to this one are old news: they shape the picture and print no line. Default 0. */
  readonly afterSeq?: number;
}

/** Milliseconds between two pictures on a terminal. */
const frameMs = 120;

/** Shows a run until its updates end: redrawn on a terminal, calm lines elsewhere. Returns the last view. */
export async function watchRun(
  updates: AsyncIterable<RunUpdate>,
  io: Io,
  talk: Talk,
  options: WatchOptions = {},
): Promise<RunView> {
  const canRedraw = io.stderr.isTTY === true && io.env.TERM !== "dumb" && !io.env.CI;
  const picture = canRedraw ? await redrawing(io, talk) : printing(talk, options.afterSeq ?? 0);
  let view = emptyView;
  try {
    for await (const update of updates) {
      view = applyUpdate(view, update);
      picture.show(view, update);
    }
  } finally {
    picture.end(view);
  }
  return view;
}

interface Picture {
  show(view: RunView, update: RunUpdate): void;
  end(view: RunView): void;
}

function printing(talk: Talk, afterSeq: number): Picture {
  return {
    show(_view, update) {
      if ("type" in update || update.seq <= afterSeq) return;
      const line = eventLine(update.event);
      if (line !== null) talk.say(line);
    },
    end() {},
  };
}

async function redrawing(io: Io, talk: Talk): Promise<Picture> {
  const { createLogUpdate } = await import("log-update");
  const update = createLogUpdate(io.stderr as NodeJS.WriteStream);
  let current = emptyView;
  const draw = () =>
    update(
      renderTree(current, {
        now: Date.now(),
        width: io.stderr.columns ?? 80,
        height: io.stderr.rows ?? 24,
        paint: talk.paint,
      }),
    );
  const timer = setInterval(draw, frameMs);
  return {
    show(view) {
      current = view;
    },
    end(view) {
      clearInterval(timer);
      current = view;
      draw();
      update.done();
    },
  };
}
