/** What the exit code of every command means. */
export const ExitCode = {
  done: 0,
  /** A run or a call failed. */
  failed: 1,
  /** Wrong usage, a plan with problems, or over budget before the start: nothing was submitted. */
  refused: 2,
  /** Paused, partial, or charged beyond its budget; the message says how to go on. */
  unfinished: 3,
  /** Ctrl-C, after what was being sent had its answer. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];
