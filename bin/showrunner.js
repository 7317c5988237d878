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

if (major < 22 || (major === 22 && minor < 19)) {
  const next = existsSync(source)
    ? "npm ci, then npx showrunner (it brings its own Node)"
    : "npm install -D node@24   (then `npx showrunner` runs under it)";
  process.stderr.write(`Showrunner needs Node 22.19 or newer; this is ${process.versions.node}.\nNext: ${next}\n`);
  process.exitCode = 2;
} else {
  // What was compiled once is not compiled again by the next command.
  module.enableCompileCache();
  await import(existsSync(source) ? source.href : new URL("../dist/cli/main.js", import.meta.url).href);
}
