import type { Command } from "commander";
import { type CompletedCommand, completedCommands } from "../completion/commands.ts";
import { fishCompletion } from "../completion/fish.ts";
import { zshCompletion } from "../completion/zsh.ts";
import type { Context } from "../context.ts";
import { ExitCode } from "../exit-code.ts";

/** Completion for bash 3.2 and later, without the bash-completion package. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# showrunner: completion for bash. Load it with: source <(showrunner completion bash)
_showrunner() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="" command="" next at words="" files=""
  [ "$COMP_CWORD" -gt 0 ] && before="\${COMP_WORDS[COMP_CWORD-1]}"
  for ((at = 1; at < COMP_CWORD; at++)); do
    next="\${command:+$command }\${COMP_WORDS[at]}"
    case "$next" in
      ${commands
        .filter(({ path }) => path !== "")
        .map(({ path }) => quoted(path))
        .join("|")}) command="$next" ;;
      *) break ;;
    esac
  done
  case "$command:$before" in
${commands.flatMap(valueCases).join("\n")}
  esac
  case "$command" in
${commands.map(wordCase).join("\n")}
  esac
  COMPREPLY=()
  while IFS= read -r next; do COMPREPLY+=("$next"); done < <(
    compgen -W "$words" -- "$word"
    if [ -n "$files" ] && [ "\${word#-}" = "$word" ]; then compgen -f -- "$word"; fi
  )
}
complete -o filenames -o bashdefault -F _showrunner showrunner
`;
}

/** After a flag that takes a value: files, or nothing that could be known. */
function valueCases({ path, flags }: CompletedCommand): readonly string[] {
  return (["file", "other"] as const).flatMap((kind) => {
    const names = flags.filter(({ value }) => value === kind).map(({ name }) => quoted(`${path}:${name}`));
    if (names.length === 0) return [];
    const action = kind === "file" ? 'words="" files=1 command="(value)"' : "COMPREPLY=(); return";
    return [`    ${names.join("|")}) ${action} ;;`];
  });
}

function wordCase({ path, commands, flags, takesFile, choices }: CompletedCommand): string {
  const words = [...commands.map(({ name }) => name), ...choices, ...flags.map(({ name }) => name)].join(" ");
  return `    ${quoted(path)}) words=${quoted(words)}${takesFile ? " files=1" : ""} ;;`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** The shells that commands are completed in. */
export type Shell = keyof typeof scripts;

/** `showrunner completion`: prints the script that makes a shell complete commands, flags and files. */
export function completion({ output }: Context, shell: Shell, program: Command): ExitCode {
  output.print(scripts[shell](completedCommands(program)).trimEnd());
  return ExitCode.done;
}
