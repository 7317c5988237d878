#!/usr/bin/env node
/**
 * The command: the built one of the package, or the sources themselves in a clone, where nothing need be built. Plain
 * JavaScript without newer syntax, so that an old Node can say what is missing.
 */
import { existsSync } from "node:fs";
import module from "node:module";
import process from "node:process";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const source = new URL("../src/cli/main.ts", import.meta.url);

if (process.versions.bun) {
  process.stderr.write(
    `Showrunner runs under Node; this is Bun ${process.versions.bun}, which may install it.\nNext: bunx showrunner   (without --bun)\n`,
  );
  process.exitCode = 2;
} else if (major < 22 || (major === 22 && minor < 19)) {
  const next = existsSync(source)
    ? "npm ci, then npx showrunner (it brings its own Node)"
    : "npm install -D node@24   (then `npx showrunner` runs under it)";
  process.stderr.write(`Showrunner needs Node 22.19 or newer; this is ${process.versions.node}.\nNext: ${next}\n`);
  process.exitCode = 2;
} else {
  if (process.argv[2] === "worker") limitYoungMemory();
  // What was compiled once is not compiled again by the next command.
  module.enableCompileCache();
  await import(existsSync(source) ? source.href : new URL("../dist/cli/main.js", import.meta.url).href);
}

/**
 * A worker begins anew, in the same process, with less room for young objects: V8 would take up to 130 MB for those of thousands of
 * runs, and be no faster for it. Who sets that room, or started this process with a channel, has it as it is.
 */
function limitYoungMemory() {
  const flags = [...process.execArgv, process.env.NODE_OPTIONS || ""].join(" ");
  if (/semi[-_]space/.test(flags) || process.channel || !process.execve || process.platform === "win32") return;
  try {
    const args = ["--max-semi-space-size=16", ...process.execArgv, ...process.argv.slice(1)];
    process.execve(process.execPath, [process.execPath, ...args], process.env);
  } catch {
    // Not permitted here: it works as well with more memory.
  }
}
