#!/usr/bin/env node
/** The process around the command line: the only place that reads the process and sets its exit code. */
import process from "node:process";

const oldest = [22, 19] as const;
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  console.error(`Showrunner needs Node ${oldest.join(".")} or newer; this is ${process.versions.node}.`);
  console.error("Next: npm install -D node@24   (then `npx showrunner` runs under it)");
  process.exitCode = 2;
} else {
  // Imported only now: an older Node cannot even parse what follows.
  const { hostProcess } = await import("./host-process.ts");
  const { runCli } = await import("./program.ts");
  process.exitCode = await runCli(process.argv.slice(2), hostProcess());
}
