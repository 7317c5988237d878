import { parentPort } from "node:worker_threads";
import type { Answered, Question, Reply } from "./media-reader.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the entry point of a worker thread; it cannot run on its own");

const reply = (message: Reply) => port.postMessage(message);

port.on("message", async (question: Question | "load") => {
  const read = await import("./read-media.ts");
  await read.load();
  if (question === "load") return;
  reply({ type: "reading" });
  const answer = await read.answerTo(question).catch((error: unknown): Answered => {
    return { fault: `it cannot be read (${error instanceof Error ? error.message : String(error)})` };
  });
  reply({ type: "read", answer });
});
