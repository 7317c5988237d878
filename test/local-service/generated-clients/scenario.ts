/** The settings with which a client runs the main scenario. */
export interface Setting {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Key of a workspace without funds. */
  readonly poorKey: string;
  readonly picture: Uint8Array<ArrayBuffer>;
  /** Permitted target for webhooks and log drains. */
  readonly hookUrl: string;
  /** Returns the raw bodies of the next requests that arrive at `hookUrl`. */
  arrived(count: number): Promise<readonly string[]>;
  /** Makes the next request to a route fail with an error code. */
  refuseNext(route: string, code: string): void;
}

/** The results of the main scenario, which are the same for every client. */
export interface Found {
  readonly models: readonly string[];
  readonly required: readonly string[];
  readonly estimated: number | null;
  readonly charged: number | undefined;
  readonly enlarged: string;
  readonly statuses: readonly string[];
  readonly events: readonly string[];
  readonly ended: boolean;
  readonly downloaded: readonly string[];
  readonly refusals: readonly Refused[];
  readonly key: { readonly scopes: readonly string[] | null; readonly rotated: boolean; readonly left: boolean };
  readonly hook: { readonly url: string | null; readonly enabled: boolean; readonly tested: boolean };
  readonly announced: readonly string[];
  readonly drain: { readonly format: string; readonly paused: string | null; readonly left: boolean };
  readonly said: string;
}

/** An error, with the fields that its type provides. */
export interface Refused {
  readonly status: number;
  readonly code: string;
  readonly more: string | number | null | undefined;
}

/** The result of a client that generates a picture from only the required input. */
export interface Made {
  readonly status: string;
  readonly contentTypes: readonly (string | null)[];
  readonly refused: string | null | undefined;
  readonly voices: readonly string[];
}

export const FINISHED: readonly string[] = ["COMPLETED", "FAILED"];

export const SECRET = "s".repeat(64);
