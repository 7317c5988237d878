import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compileCache } from "../../support/compile-cache.ts";
import { ownCommand } from "../../support/own-command.ts";
import type { CliEnd } from "./cli.ts";

/** A shell in a folder, with `showrunner` on the PATH. */
export interface Shell {
  /** Runs a line that a person pastes. */
  paste(line: string, started?: (group: { kill(): void }) => void): Promise<CliEnd>;
}

/** Opens a shell. `env` is called for every line; its `SHOWRUNNER_TEST_NODE_FLAGS` are Node flags for the command's process. */
export function openShell(cwd: string, env: () => Readonly<Record<string, string>>): Shell {
  mkdirSync(join(cwd, "bin"));
  const command = join(cwd, "bin/showrunner");
  const words = `"${process.execPath}" $SHOWRUNNER_TEST_NODE_FLAGS "${ownCommand}"`;
  writeFileSync(command, `#!/bin/sh\nexec ${words} "$@"\n`);
  chmodSync(command, 0o755);
  return {
    paste(line, started) {
      const PATH = `${join(cwd, "bin")}:${process.env.PATH}`;
      const variables = { PATH, HOME: process.env.HOME, ...compileCache, ...env() };
      // A group of its own, so that closing the terminal ends the shell and what it started.
      const child = spawn("sh", ["-c", line], {
        ...{ cwd, env: variables, detached: true, stdio: ["ignore", "pipe", "pipe"] },
      });
      const written = { stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const) {
        child[name]!.setEncoding("utf8").on("data", (text: string) => {
          written[name] += text;
        });
      }
      started?.({ kill: () => process.kill(-child.pid!, "SIGKILL") });
      const { promise, resolve, reject } = Promise.withResolvers<CliEnd>();
      child.on("error", reject);
      child.on("close", (code) => resolve({ code, ...written }));
      return promise;
    },
  };
}

/** Finds the commands under `Next:`. Remarks are in brackets on separate lines. */
export function suggestionsOf(stderr: string): readonly string[] {
  const found: string[] = [];
  let isNext = false;
  for (const line of stderr.split("\n")) {
    isNext = line.startsWith("Next: ") || (isNext && line.startsWith("      "));
    const text = line.replace(/^Next: /, "").trim();
    if (isNext && text.startsWith("showrunner ")) found.push(text);
  }
  return found;
}
