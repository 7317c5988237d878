import type { Command } from "commander";

/** A command as a shell completes it. */
export interface CompletedCommand {
  /** `jobs get`; empty for the program itself. */
  readonly path: string;
  readonly description: string;
  /** Words that may follow: commands of a group. */
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly flags: readonly CompletedFlag[];
  /** Whether its first argument is a file. */
  readonly takesFile: boolean;
  /** Fixed words that its first argument may be. */
  readonly choices: readonly string[];
}

export interface CompletedFlag {
  /** With its dashes: `--budget`. */
  readonly name: string;
  readonly description: string;
  readonly value: "none" | "file" | "other";
}

/** Everything that there is to complete, the program first. */
export function completedCommands(program: Command): readonly CompletedCommand[] {
  return [completed(program, ""), ...program.commands.flatMap((one) => withChildren(one, ""))];
}

function withChildren(command: Command, parent: string): readonly CompletedCommand[] {
  const path = parent === "" ? command.name() : `${parent} ${command.name()}`;
  return [completed(command, path), ...command.commands.flatMap((one) => withChildren(one, path))];
}

function completed(command: Command, path: string): CompletedCommand {
  const [argument] = command.registeredArguments;
  return {
    path,
    description: command.description(),
    commands: command.commands.map((one) => ({ name: one.name(), description: one.description() })),
    flags: [
      ...command.options.map(({ long, short, flags, description }) => ({
        name: long ?? short ?? flags,
        description,
        value: kindOfValue(flags),
      })),
      { name: "--help", description: "say how it is used", value: "none" },
    ],
    takesFile: /^(file|path|v2)/.test(argument?.name() ?? ""),
    choices: argument?.argChoices ?? [],
  };
}

function kindOfValue(flags: string): CompletedFlag["value"] {
  const [, value] = /[<[]([^>\]]+)[>\]]/.exec(flags) ?? [];
  if (value === undefined) return "none";
  return /file|dir|path/.test(value) ? "file" : "other";
}

/** A word as bash and zsh read it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** What bash and zsh do after each flag that takes a value: branches of their `case`. */
function valueCases(
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

/** Follows the words typed so far down to the command that they name, then does what fits it; both shells read this. */
function walk(commands: readonly CompletedCommand[], values: readonly string[], words: readonly string[]): string {
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  return `    case "$next" in
      ${paths.join("|")}) command="$next" ;;
      *) break ;;
    esac
  done
  case "$command:$before" in
${values.join("\n")}
  esac
  case "$command" in
${words.join("\n")}
  esac`;
}

/** Completion for bash 3.2 and later, without the bash-completion package. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# showrunner: completion for bash. Load it with: source <(showrunner completion bash)
_showrunner() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="" command="" next at words="" files=""
  [ "$COMP_CWORD" -gt 0 ] && before="\${COMP_WORDS[COMP_CWORD-1]}"
  for ((at = 1; at < COMP_CWORD; at++)); do
    next="\${command:+$command }\${COMP_WORDS[at]}"
${walk(commands, valueCases(commands, BASH_ACTIONS), commands.map(bashWords))}
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
const BASH_ACTIONS = { file: 'words="" files=1 command="(value)"', other: "COMPREPLY=(); return" };

function bashWords({ path, commands, flags, takesFile, choices }: CompletedCommand): string {
  const words = [...commands.map(({ name }) => name), ...choices, ...flags.map(({ name }) => name)].join(" ");
  return `    ${quoted(path)}) words=${quoted(words)}${takesFile ? " files=1" : ""} ;;`;
}

const ZSH_ACTIONS = { file: "_files; return", other: "return" };

/** Completion for zsh, to be sourced after `compinit`. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef showrunner
# showrunner: completion for zsh. Load it with: source <(showrunner completion zsh)
_showrunner() {
  local command="" next before="\${words[CURRENT-1]}" at
  local -a candidates
  for ((at = 2; at < CURRENT; at++)); do
    next="\${command:+$command }\${words[at]}"
${walk(commands, valueCases(commands, ZSH_ACTIONS), commands.map(zshWords))}
}
compdef _showrunner showrunner
`;
}

function zshWords({ path, commands, flags, takesFile, choices }: CompletedCommand): string {
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

/** Completion for fish. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const names = commands.filter(({ path }) => path !== "").map(({ path }) => fishQuoted(path));
  return `# showrunner: completion for fish. Load it with: showrunner completion fish | source
function __showrunner_command
  set -l command ""
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$command $word")
    if contains -- $next ${names.join(" ")}
      set command $next
    else
      break
    end
  end
  echo $command
end
function __showrunner_at
  test (__showrunner_command) = "$argv[1]"
end
complete -c showrunner -f
${commands.flatMap(lines).join("\n")}
`;
}

function lines({ path, commands, flags, takesFile, choices }: CompletedCommand): readonly string[] {
  const at = `complete -c showrunner -n ${fishQuoted(`__showrunner_at ${fishQuoted(path)}`)}`;
  return [
    ...commands.map(({ name, description }) => `${at} -a ${fishQuoted(name)} -d ${fishQuoted(description)}`),
    ...choices.map((choice) => `${at} -a ${fishQuoted(choice)}`),
    ...(takesFile ? [`${at} -F`] : []),
    ...flags.map(({ name, description, value }) => {
      const spelled = name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`;
      const takes = value === "none" ? "" : value === "file" ? " -r -F" : " -x";
      return `${at} ${spelled}${takes} -d ${fishQuoted(description)}`;
    }),
  ];
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
