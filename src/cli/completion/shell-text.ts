import type { CompletedCommand } from "./commands.ts";

/** A word as bash and zsh read it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** What bash and zsh do after each flag that takes a value: branches of their `case`. */
export function valueCases(
  commands: readonly CompletedCommand[],
  actions: Readonly<Record<"file" | "other", string>>,
): readonly string[] {
  return commands.flatMap(({ path, flags }) =>
    (["file", "other"] as const).flatMap((kind) => {
      const names = flags.filter(({ value }) => value === kind).map(({ name }) => quoted(`${path}:${name}`));
      return names.length === 0 ? [] : [`    ${names.join("|")}) ${actions[kind]} ;;`];
    }),
  );
}
