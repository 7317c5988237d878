import type { CompletedCommand } from "./commands.ts";

/** Completion for fish. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const names = commands.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
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
  const at = `complete -c showrunner -n ${quoted(`__showrunner_at ${quoted(path)}`)}`;
  return [
    ...commands.map(({ name, description }) => `${at} -a ${quoted(name)} -d ${quoted(description)}`),
    ...choices.map((choice) => `${at} -a ${quoted(choice)}`),
    ...(takesFile ? [`${at} -F`] : []),
    ...flags.map(({ name, description, value }) => {
      const spelled = name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`;
      const takes = value === "none" ? "" : value === "file" ? " -r -F" : " -x";
      return `${at} ${spelled}${takes} -d ${quoted(description)}`;
    }),
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
