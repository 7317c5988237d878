interface DecidedParts {
  readonly approved: boolean;
  readonly value?: unknown;
  readonly by?: { readonly name: string; readonly verified: boolean };
}

export function decidedText({ approved, value, by }: DecidedParts): string {
  const what = approved ? `approved${value === undefined ? "" : " with a changed value"}` : "rejected";
  return by === undefined ? what : `${what} ${deciderText(by)}`;
}

export function deciderText({ name, verified }: NonNullable<DecidedParts["by"]>): string {
  return `by ${name}${verified ? "" : " (name not verified)"}`;
}
