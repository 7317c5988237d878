/** The process around the command line: the only place that reads the process and sets its exit code. */
import process from "node:process";
import { hostProcess, leave } from "./host-process.ts";
import { runCli, sayError } from "./program.ts";

const io = hostProcess();
process.on("uncaughtException", (error) => process.exit(sayError(error, io)));
process.exitCode = await runCli(process.argv.slice(2), io);
await leave();
