/** A section of a video with its own prompt. */
export interface Scene {
  readonly prompt: string;
  readonly frames: number;
}

const DEFAULT_MS = 5000;

/**
 * Total duration of a film whose shots keep their own durations (`shot_type: customize`), in milliseconds; null for
 * other films, whose duration is `duration_ms`.
 */
export function customShotsMs({ shot_type, multi_prompt }: Readonly<Record<string, unknown>>): number | null {
  if (shot_type !== "customize" || !Array.isArray(multi_prompt) || multi_prompt.length === 0) return null;
  return multi_prompt.reduce<number>((sum, shot) => sum + readShot(shot).durationMs, 0);
}

/** The shots of `multi_prompt`, scaled so that they fill the frames exactly; or the one prompt for all of them. */
export function storyboardOf(input: Readonly<Record<string, unknown>>, frames: number): readonly [Scene, ...Scene[]] {
  const shots = Array.isArray(input.multi_prompt) ? input.multi_prompt.map(readShot).slice(0, frames) : [];
  const total = shots.reduce((sum, shot) => sum + shot.durationMs, 0);
  let used = 0;
  let elapsed = 0;
  const scenes = shots.map(({ prompt, durationMs }) => {
    elapsed += durationMs;
    const end = Math.round((elapsed / total) * frames);
    const scene = { prompt, frames: end - used };
    used = end;
    return scene;
  });
  const [first, ...rest] = scenes.filter((scene) => scene.frames > 0);
  return first === undefined ? [{ prompt: String(input.prompt ?? ""), frames }] : [first, ...rest];
}

function readShot(shot: unknown): { readonly prompt: string; readonly durationMs: number } {
  const { prompt, duration_ms: duration } = (shot ?? {}) as { prompt?: unknown; duration_ms?: unknown };
  return {
    prompt: String(prompt ?? ""),
    durationMs: typeof duration === "number" && duration > 0 ? duration : DEFAULT_MS,
  };
}
