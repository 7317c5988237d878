import process from "node:process";
import { givenArguments, hostProcess, leave } from "./host-process.ts";
import { createOutput } from "./io.ts";
import { runCli, sayError } from "./program.ts";

const io = hostProcess();
const args = givenArguments();
// Node reports an error that occurs while this one is being explained.
process.once("uncaughtException", async (error) => {
  process.exit(await sayError(error, { io, output: createOutput(io), args }));
});
process.exitCode = await runCli(args, io);
await leave();
