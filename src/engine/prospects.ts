import type { FollowStrategy } from "../plan/index.ts";

/** A step that may find an asset gone that it takes in. */
export interface ExpiryRisk {
  readonly step: string;
  /** Path of the step that makes the asset. */
  readonly uses: string;
  readonly why: string;
  /** True when a copy is kept, which goes back as a free upload. False: it would have to be made, and paid for, again. */
  readonly heals: boolean;
}

/** How many API requests a run sends, and how long it takes at least with the key's limit. */
export interface RequestForecast {
  /** Requests that the key may send a minute; null while the service has not said. */
  readonly perMinute: number | null;
  readonly byStrategy: {
    readonly [S in FollowStrategy]: {
      readonly requests: number;
      /** Milliseconds, jobs at once and requests a minute considered; durations are guesses where a model never ran. */
      readonly makespanMs: number;
    };
  };
}
