import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { lacksUnix, testNeeding } from "../support/absence.ts";
import { compileCache } from "../support/compile-cache.ts";
import { root } from "./support/cli.ts";

vi.setConfig({ testTimeout: 60_000 });

const LIMIT = "--max-semi-space-size=16";

/** The flags of Node that each program of the command's process ran with, the last one last. */
function flagsOf(args: readonly string[], env: Readonly<Record<string, string>> = {}): readonly string[] {
  const tells = "data:text/javascript,console.error('flags:'+process.execArgv.slice(0,-2).join())";
  const { stderr, status } = spawnSync(
    process.execPath,
    ["--import", tells, join(root, "bin/showrunner.js"), ...args, "--help"],
    { encoding: "utf8", env: { PATH: process.env.PATH, ...compileCache, ...env } },
  );
  expect(status, stderr).toBe(0);
  return [...stderr.matchAll(/^flags:(.*)$/gm)].map(([, flags]) => flags!);
}

testNeeding(lacksUnix)("a worker starts with less room for young objects, unless it is told which", () => {
  expect(flagsOf(["worker"])).toEqual(["", LIMIT]);
  expect(flagsOf(["worker"], { NODE_OPTIONS: "--max-semi-space-size=32" })).toEqual([""]);
  expect(flagsOf(["plan"])).toEqual([""]);
});
