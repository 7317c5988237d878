import type { RunEvent } from "../../index.ts";
import { counted } from "../text/count.ts";
import { visible } from "../text/escape.ts";
import { dollars } from "../text/money.ts";

/** The line that an event deserves where nothing can be redrawn; null for events that say nothing to a person. */
export function eventLine(event: RunEvent): string | null {
  const said = describe(event);
  return said === null ? null : "step" in event ? `${visible(event.step)}: ${said}` : said;
}

const withdrawn = {
  funds: "the wallet cannot fund this job; nothing was charged",
  expired: "an upload had expired; sending it again",
  unsent: "the service could not be reached; nothing was sent",
  credentials: "the service does not take the key; nothing was made",
} as const;

function describe(event: RunEvent): string | null {
  switch (event.type) {
    case "run.paused":
      return `paused (${event.reason}): ${visible(event.message)}`;
    case "run.reopened":
      return "opened again";
    case "run.account.moved": {
      const proof = event.jobId === null ? "nothing of it was sent yet" : `which knows its job ${visible(event.jobId)}`;
      return `belongs to key ${visible(event.keyId)} at ${visible(event.baseUrl)} from now on, ${proof}`;
    }
    case "rerun.requested":
      return `asked to make again: ${event.steps.map(visible).join(", ")}`;
    case "run.replanned":
      return `took up changed code, ${counted(event.plan.steps.length, "step")}`;
    case "step.reset":
      return `is made again: ${visible(event.why)}`;
    case "step.restored":
      return "uses the same as before: what it made then is kept";
    case "step.reused":
      return `taken over from run ${visible(event.from.runId)}`;
    case "chat.intended":
      return `asking ${visible(event.model)}`;
    case "chat.answered":
      return `answered, cost ${dollars(event.costMicros)}`;
    case "chat.failed":
      return `no useful answer: ${visible(event.error.message)}`;
    case "chat.abandoned":
      return "the answer never came; it may have cost its maximum, and is asked again";
    case "task.failed":
      return `failed: ${visible(event.error.message)}`;
    case "approval.decided":
      return `${event.approved ? "approved" : "rejected"}${event.note === null ? "" : `: ${visible(event.note)}`}`;
    case "pick.made":
      return `chose output ${event.chosen.index} of ${visible(event.chosen.step)}`;
    case "expand.planned":
      return `planned ${counted(event.steps.length, "step")}`;
    case "run.finished":
      return `run ${event.status}${event.message ? `: ${visible(event.message)}` : ""}`;
    case "step.finished":
      return `${event.status}${event.reason ? `: ${visible(event.reason)}` : ""}`;
    case "upload.stored":
      return `uploaded ${visible(event.contentType)}, ${event.sizeBytes} bytes`;
    case "job.submit.unknown":
      return `no answer to the submit, asking again with the same key: ${visible(event.message)}`;
    case "service.away":
      return `the service is away, trying again: ${visible(event.message)}`;
    case "service.back":
      return "the service is back";
    case "job.found":
      return "the service shows its job again";
    case "job.submit.refused":
      return `refused: ${visible(event.error.message)}`;
    case "job.submit.withdrawn":
      return withdrawn[event.reason];
    case "job.unresolved":
      return `needs a decision: ${visible(event.message)}`;
    case "job.submitted":
      return `job ${visible(event.jobId)} on ${visible(event.model)}`;
    case "job.hold.raised":
      return `will cost more than quoted: ${dollars(event.holdMicros)} reserved`;
    case "price.learned":
      return `${visible(event.model)} charged more than its quotes in run ${visible(event.runId)}: holds are raised`;
    case "job.started":
      return "rendering";
    case "job.failed":
      return `job failed: ${visible(event.error.message)}`;
    case "job.settled":
      return `cost ${dollars(event.costMicros)}`;
    case "output.downloaded":
      return `downloaded ${visible(event.contentType)}, ${event.sizeBytes} bytes`;
    case "output.expired":
      return `output ${event.index} expired at the service`;
    case "file.placed":
      return `${visible(event.name)} is ${visible(event.file)}`;
    default:
      return null;
  }
}
