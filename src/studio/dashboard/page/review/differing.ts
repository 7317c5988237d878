export type Input = Readonly<Record<string, unknown>>;

export function differing(inputs: readonly Input[]): readonly string[] {
  const names = new Set(inputs.flatMap((input) => Object.keys(input)));
  return [...names].filter((name) => new Set(inputs.map((input) => JSON.stringify(input[name]))).size > 1);
}
