import type { Interceptor } from "../http/kernel.ts";
import type { Served } from "../media/download.ts";
import type { ServiceContext } from "../service-context.ts";
import { createReplayedMedia } from "./replayed-media.ts";
import { Replayer } from "./replayer.ts";

/** A recording that answers in place of the service. */
export interface Replay {
  readonly interceptor: Interceptor;
  /** What is at `/replayed/{id}`. */
  file(id: string): Promise<Served | null>;
}

/** The replay that the options name; null for none. */
export function openReplay(service: ServiceContext): Replay | null {
  const { replay } = service.options;
  if (replay === null) return null;
  const media = createReplayedMedia(replay.recording, service);
  return { interceptor: new Replayer(replay.recording, service, media, replay).interceptor, file: media.file };
}

/** Faults come first: they apply to replayed answers as to the service's own. */
export function withReplay(faults: Interceptor, replay: Replay | null): Interceptor {
  if (replay === null) return faults;
  return {
    before: async (endpoint, call) =>
      (await faults.before(endpoint, call)) ?? (await replay.interceptor.before(endpoint, call)),
    after: faults.after,
  };
}
