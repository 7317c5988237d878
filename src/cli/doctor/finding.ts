/** The result of one check of `doctor`. `unknown`: it was not requested, or cannot be decided from here. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "fail" | "unknown";
  readonly detail: string;
  /** What to do about it; null when there is nothing to do. */
  readonly next: string | null;
}

export function fine(check: string, detail: string): Finding {
  return { check, state: "ok", detail, next: null };
}

export function failed(check: string, detail: string, next: string | null = null): Finding {
  return { check, state: "fail", detail, next };
}

export function unknown(check: string, detail: string, next: string | null = null): Finding {
  return { check, state: "unknown", detail, next };
}
