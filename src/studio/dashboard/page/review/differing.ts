export type Input = Readonly<Record<string, unknown>>;

/** Names of the fields that are not the same in all inputs. */
export function differing(inputs: readonly Input[]): readonly string[] {
  const names = new Set(inputs.flatMap((input) => Object.keys(input)));
  return [...names].filter((name) => new Set(inputs.map((input) => JSON.stringify(input[name]))).size > 1);
}
