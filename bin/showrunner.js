#!/usr/bin/env node
/**
 * Starts the command from the package's build or, in a clone, from the sources, so that nothing has to be built. Uses only
 * old JavaScript syntax, so that an old version of Node can still print what it needs.
 */
import { existsSync } from "node:fs";
import module from "node:module";
import process from "node:process";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const source = new URL("../src/cli/main.ts", import.meta.url);

if (process.versions.bun) {
  process.stderr.write(
    `Showrunner needs Node; this is Bun ${process.versions.bun}, which can install it but not run it.\nNext: bunx showrunner   (without --bun)\n`,
  );
  process.exitCode = 2;
} else if (major < 22 || (major === 22 && minor < 19)) {
  const next = existsSync(source)
    ? "npm ci, then npx showrunner (it brings its own Node)"
    : "npm install -D node@24   (then `npx showrunner` uses it)";
  process.stderr.write(`Showrunner needs Node 22.19 or newer; this is ${process.versions.node}.\nNext: ${next}\n`);
  process.exitCode = 2;
} else {
  if (process.argv[2] === "worker") limitYoungMemory();
  // Caches compiled code for the next command.
  module.enableCompileCache();
  await import(existsSync(source) ? source.href : new URL("../dist/cli/main.js", import.meta.url).href);
}

/**
 * Restarts a worker in the same process with a smaller young generation. With thousands of runs, V8 would otherwise use up
 * to 130 MB for it without being faster. Does nothing if the size is already set or the process has an IPC channel.
 */
function limitYoungMemory() {
  const flags = [...process.execArgv, process.env.NODE_OPTIONS || ""].join(" ");
  if (/semi[-_]space/.test(flags) || process.channel || !process.execve || process.platform === "win32") return;
  try {
    const args = ["--max-semi-space-size=16", ...process.execArgv, ...process.argv.slice(1)];
    process.execve(process.execPath, [process.execPath, ...args], process.env);
  } catch {
    // Restarting is not permitted here. The worker also works with more memory.
  }
}
