import type { Command, Option } from "commander";
import type { Context } from "../context.ts";

/** The line that tells a completion script to complete file names. */
const FILES = ":files";

/**
 * Completion scripts by shell. Each one calls this command, which prints one completion and its description per line.
 */
const scripts = {
  // Works with bash 3.2 and later, without the bash-completion package. Never evaluates the typed words as code.
  bash: `# showrunner: completion for bash. Load it with: source <(showrunner completion bash)
_showrunner() {
  local word="\${COMP_WORDS[COMP_CWORD]}" line
  COMPREPLY=()
  while IFS=$'\\t' read -r line _; do
    if [ "$line" = ${FILES} ]; then
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
    else
      COMPREPLY+=("$line")
    fi
  done < <("$1" completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o filenames -o bashdefault -F _showrunner showrunner`,
  zsh: `#compdef showrunner
# showrunner: completion for zsh. Load it with: source <(showrunner completion zsh)
_showrunner() {
  local line
  local -a found
  for line in "\${(@f)$("\${words[1]}" completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ "$line" == ${FILES} ]]; then
      _files
    else
      found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  _describe command found
}
compdef _showrunner showrunner`,
  fish: `# showrunner: completion for fish. Load it with: showrunner completion fish | source
function __showrunner
  set -l words (commandline -opc) (commandline -ct)
  for line in ($words[1] completion fish -- $words[2..-1] 2>/dev/null)
    if test "$line" = ${FILES}
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c showrunner -f -a '(__showrunner)'`,
} as const;

export async function completion(
  { output }: Context,
  shell: keyof typeof scripts,
  words: readonly string[],
  _flags: object,
  { parent }: Command,
): Promise<void> {
  if (words.length === 0) output.print(scripts[shell]);
  for (const line of words.length === 0 ? [] : following(parent!, words)) output.print(line);
}

export function following(program: Command, words: readonly string[]): readonly string[] {
  const typed = words.slice(0, -1);
  const last = words.at(-1) ?? "";
  let command = program;
  for (const word of typed) {
    const inner = command.commands.find((one) => one.name() === word);
    if (inner === undefined) break;
    command = inner;
  }
  const option = command.options.find((one) => isCalled(one, typed.at(-1)));
  const [, value] = /[<[](.+)[>\]]/.exec(option?.flags ?? "") ?? [];
  if (value !== undefined) {
    const choices = option?.argChoices ?? (/file|dir|path/.test(value) ? [FILES] : []);
    return choices.filter((choice) => choice === FILES || choice.startsWith(last));
  }
  const [argument] = command.registeredArguments;
  const found: readonly (readonly [word: string, description: string])[] = [
    ...command.commands.map((one) => [one.name(), one.description()] as const),
    ...(argument?.argChoices ?? []).map((choice) => [choice, argument!.description] as const),
    ...command.options.map((one) => [one.long ?? one.short ?? one.flags, one.description] as const),
    ["--help", "display help for command"],
  ];
  const takesFile = /^(file|path|v2|folder)/.test(argument?.name() ?? "") && !last.startsWith("-");
  const lines = found.filter(([word]) => word.startsWith(last)).map((one) => one.join("\t"));
  return takesFile ? [...lines, FILES] : lines;
}

function isCalled({ long, short }: Option, word: string | undefined): boolean {
  return word !== undefined && (word === long || word === short);
}
