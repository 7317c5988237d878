import type { CompletedCommand } from "./commands.ts";
import { quoted, valueCases } from "./shell-text.ts";

/** After a flag that takes a value: files, or nothing that could be known. */
const VALUE_ACTIONS = { file: "_files; return", other: "return" };

/** Completion for zsh, to be sourced after `compinit`. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  return `#compdef showrunner
# showrunner: completion for zsh. Load it with: source <(showrunner completion zsh)
_showrunner() {
  local command="" next before="\${words[CURRENT-1]}" at
  local -a candidates
  for ((at = 2; at < CURRENT; at++)); do
    next="\${command:+$command }\${words[at]}"
    case "$next" in
      ${paths.join("|")}) command="$next" ;;
      *) break ;;
    esac
  done
  case "$command:$before" in
${valueCases(commands, VALUE_ACTIONS).join("\n")}
  esac
  case "$command" in
${commands.map(wordCase).join("\n")}
  esac
}
compdef _showrunner showrunner
`;
}

function wordCase({ path, commands, flags, takesFile, choices }: CompletedCommand): string {
  const described = [
    ...commands.map(({ name, description }) => `${name}:${description}`),
    ...choices,
    ...flags.map(({ name, description }) => `${name}:${description}`),
  ].map((text) =>
    quoted(
      text.replace(/^([^:]+):(.*)$/s, (_, name: string, said: string) => `${name}:${said.replaceAll(":", "\\:")}`),
    ),
  );
  return `    ${quoted(path)}) candidates=(${described.join(" ")}); _describe command candidates${takesFile ? "; _files" : ""} ;;`;
}
