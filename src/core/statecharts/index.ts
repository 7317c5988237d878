// State machines of runs, for tools that draw or execute them. This is a separate entry, because its types need xstate.
export { jobMachine, outputMachine, runMachine, stepMachine } from "../lifecycle/index.ts";
