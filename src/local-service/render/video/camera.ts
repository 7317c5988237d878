import { pick, randomFrom } from "../random.ts";

/** How far the drawn picture reaches beyond the frame on every side, as a part of the frame. */
export const OVERSCAN = 0.12;

/** Where the camera looks: offsets are parts of the frame, a larger scale is nearer. */
export interface View {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

export const STILL: View = { scale: 1, x: 0, y: 0 };

type Move = "in" | "out" | "left" | "right" | "up" | "down" | "orbit" | "shake" | "still";

const MOVES: readonly (readonly [Move, RegExp])[] = [
  ["still", /\b(static|locked[- ]off|fixed camera|no camera|tripod|still camera)\b/],
  ["out", /\b(zoom(s|ing)? out|pull(s|ing)? (back|out|away)|dolly out|reveal(s|ing)?|wide[nr])\b/],
  ["in", /\b(zoom(s|ing)?( in)?|push(es|ing)? in|dolly|close[- ]?up|approach(es|ing)?)\b/],
  ["left", /\b(pan(s|ning)? left|(moves?|slides?|track(s|ing)?) left|leftwards?)\b/],
  [
    "right",
    /\b(pan(s|ning)?|(moves?|slides?) right|tracking|track(s|ing)? (shot|right)|drives?|driving|rightwards?)\b/,
  ],
  ["up", /\b(tilt(s|ing)? up|crane|rise(s)?|rising|ascend(s|ing)?|launch(es|ing)?|takes? off|drone|flies|flying)\b/],
  ["down", /\b(tilt(s|ing)? down|descend(s|ing)?|falls?|falling|sinks?)\b/],
  ["orbit", /\b(orbit(s|ing)?|rotat(e|es|ing)|spin(s|ning)?|turn(s|ing)?|circl(e|es|ing)|around)\b/],
  ["shake", /\b(handheld|hand-held|shak(y|es|ing)|run(s|ning)?|chase|action|walk(s|ing)?)\b/],
];

/** The camera's way through a shot, from its start (0) to its end (1); it always starts at rest on the whole picture. */
export function cameraFor(prompt: string, seed: number): (progress: number) => View {
  const words = prompt.toLowerCase();
  const chance = pick<Move>(randomFrom("camera", prompt, seed), ["in", "in", "right", "left", "up"]);
  const move = MOVES.find(([, pattern]) => pattern.test(words))?.[0] ?? chance;
  return (progress) => viewOf(move, ease(progress), progress);
}

function viewOf(move: Move, t: number, raw: number): View {
  switch (move) {
    case "still":
      return { scale: 1 + 0.012 * t, x: 0, y: 0 };
    case "in":
      return { scale: 1 + 0.26 * t, x: 0, y: -0.015 * t };
    case "out":
      return { scale: 1 - 0.17 * t, x: 0, y: 0 };
    case "left":
      return { scale: 1 + 0.05 * t, x: -0.13 * t, y: 0 };
    case "right":
      return { scale: 1 + 0.05 * t, x: 0.13 * t, y: 0 };
    case "up":
      return { scale: 1 + 0.06 * t, x: 0, y: -0.13 * t };
    case "down":
      return { scale: 1 + 0.06 * t, x: 0, y: 0.13 * t };
    case "orbit":
      return { scale: 1 + 0.12 * t, x: 0.08 * Math.sin(raw * Math.PI * 2) * t, y: 0.02 * Math.sin(raw * Math.PI) };
    case "shake":
      return { scale: 1 + 0.1 * t, x: 0.012 * Math.sin(raw * 23) * t, y: 0.014 * Math.sin(raw * 31) * t };
    default: {
      const unknown: never = move;
      return unknown;
    }
  }
}

/** Slow at both ends. */
export function ease(t: number): number {
  return t * t * (3 - 2 * t);
}
