/** The process around the command line: the only place that reads the process and sets its exit code. */
import process from "node:process";
import { hostProcess } from "./host-process.ts";
import { runCli } from "./program.ts";

process.exitCode = await runCli(process.argv.slice(2), hostProcess());
