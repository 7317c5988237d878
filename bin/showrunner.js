#!/usr/bin/env node
/**
 * Starts the command: the package's build, or in a clone the sources, so that nothing has to be built. Plain JavaScript without
 * new syntax, so that an old Node can report what is missing.
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
  // Saves the next command from compiling again.
  module.enableCompileCache();
  await import(existsSync(source) ? source.href : new URL("../dist/cli/main.js", import.meta.url).href);
}

/**
 * Restarts a worker in the same process with a smaller young generation: with thousands of runs, V8 would use up to 130 MB for it
 * and be no faster. Skipped if the size is already set or the process has an IPC channel.
 */
function limitYoungMemory() {
  const flags = [...process.execArgv, process.env.NODE_OPTIONS || ""].join(" ");
  if (/semi[-_]space/.test(flags) || process.channel || !process.execve || process.platform === "win32") return;
  try {
    const args = ["--max-semi-space-size=16", ...process.execArgv, ...process.argv.slice(1)];
    process.execve(process.execPath, [process.execPath, ...args], process.env);
  } catch {
    // Not permitted here; it also works with more memory.
  }
}
