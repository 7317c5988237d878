export { compareNow } from "./compare-now.ts";
export { startRecorder } from "./recorder.ts";
