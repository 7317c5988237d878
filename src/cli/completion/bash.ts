import type { CompletedCommand } from "./commands.ts";
import { quoted, valueCases } from "./shell-text.ts";

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
${valueCases(commands, VALUE_ACTIONS).join("\n")}
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
const VALUE_ACTIONS = { file: 'words="" files=1 command="(value)"', other: "COMPREPLY=(); return" };

function wordCase({ path, commands, flags, takesFile, choices }: CompletedCommand): string {
  const words = [...commands.map(({ name }) => name), ...choices, ...flags.map(({ name }) => name)].join(" ");
  return `    ${quoted(path)}) words=${quoted(words)}${takesFile ? " files=1" : ""} ;;`;
}
