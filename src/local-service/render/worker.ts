import { parentPort } from "node:worker_threads";
import type { Reply, Task, TaskResults } from "./message.ts";
import { probeFile } from "./probe/probe-file.ts";
import { RenderError } from "./render-error.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the entry of a worker thread; it cannot be run by itself");

const reply = (message: Reply) => port.postMessage(message);

port.on("message", (task: Task) => {
  perform(task).then(
    (result) => reply({ type: "done", result }),
    (error: unknown) => reply(failure(error)),
  );
});

async function perform(task: Task): Promise<TaskResults[Task["type"]]> {
  switch (task.type) {
    case "probe":
      return probeFile(task.path);
    case "render":
      return (await import("./render-one.ts")).renderOne(task.request, task.tempPath, (fraction) =>
        reply({ type: "progress", fraction }),
      );
    default: {
      const unknown: never = task;
      throw new Error(`unknown task ${JSON.stringify(unknown)}`);
    }
  }
}

function failure(error: unknown): Reply {
  if (error instanceof RenderError) return { type: "failed", code: error.code, message: error.message };
  return { type: "failed", code: "RENDER_FAILED", message: error instanceof Error ? error.message : String(error) };
}
