import process from "node:process";
import { givenArguments, hostProcess, leave } from "./host-process.ts";
import { createOutput } from "./io.ts";
import { isJson, runCli, sayError } from "./program.ts";

const io = hostProcess();
const args = givenArguments();
// Handles only the first error. Node itself reports an error that occurs while the first one is explained.
process.once("uncaughtException", async (error) => {
  process.exit(await sayError(error, { io, output: createOutput(io, isJson(args)), args }));
});
process.exitCode = await runCli(args, io);
await leave();
