// The charts that runs move in, for tools that draw or drive machines. Their types are xstate's, so that they have an entry of their own.
export { chatMachine, jobMachine, outputMachine, runMachine, stepMachine } from "../lifecycle/index.ts";
