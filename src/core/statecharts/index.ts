// The charts that runs follow, for tools that draw or execute state machines. A separate entry point, because their
// types are xstate's.
export { chatMachine, jobMachine, outputMachine, runMachine, stepMachine } from "../lifecycle/index.ts";
