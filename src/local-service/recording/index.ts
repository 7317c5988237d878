export { startRecorder } from "./recorder.ts";
