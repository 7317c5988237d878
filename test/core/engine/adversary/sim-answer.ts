export interface SimAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function refusal(status: number, code: string, more: object = {}): SimAnswer {
  return json(status, { error: { code, message: `refused (${status})`, retryable: false, ...more }, trace_id: null });
}

export function json(status: number, body: unknown, more: Readonly<Record<string, string>> = {}): SimAnswer {
  return { status, headers: { "content-type": "application/json", ...more }, body: JSON.stringify(body) };
}

export function usd(micros: number): string {
  return (micros / 1_000_000).toFixed(6);
}

export function iso(at: number): string {
  return new Date(at).toISOString();
}
