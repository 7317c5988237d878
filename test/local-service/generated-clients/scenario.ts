/** What a client is given to go through the main job with. */
export interface Setting {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Of a workspace without funds. */
  readonly poorKey: string;
  readonly picture: Uint8Array<ArrayBuffer>;
  /** Where webhooks and log drains may lead. */
  readonly hookUrl: string;
  /** The raw bodies of the next posts that arrive there. */
  arrived(count: number): Promise<readonly string[]>;
  /** Makes the next request to this route fail with the code. */
  refuseNext(route: string, code: string): void;
}

/** What it found on the way; the same for every client. */
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

/** An error, as its type lets it be read. */
export interface Refused {
  readonly status: number;
  readonly code: string;
  readonly more: string | number | null | undefined;
}

/** What a client finds that makes one picture with what is required alone. */
export interface Made {
  readonly status: string;
  readonly contentTypes: readonly (string | null)[];
  readonly refused: string | null | undefined;
  readonly voices: readonly string[];
}

export const FINISHED: readonly string[] = ["COMPLETED", "FAILED"];

export const SECRET = "s".repeat(64);
