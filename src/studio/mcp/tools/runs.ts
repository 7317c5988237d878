import { z } from "zod";
import { callerDocument, documentSchemas, RunView, runLine, type StoredOutput } from "../../../core/view/index.ts";
import type { RunDocument } from "../../../index.ts";
import { askedOf } from "../person.ts";
import type { AgentSession } from "../session.ts";
import { ToolError } from "../tool-error.ts";
import { mediaUri } from "./media.ts";
import { type AgentDocument, agentDocument as agentSchema, json, runId, tool } from "./tool.ts";

const DEFAULT_WAIT_SECONDS = 60;
const LONGEST_WAIT_SECONDS = 600;

const step = z.string().min(1).max(300).describe("Path of the waiting step, such as `look/pick`");

export const runTools = [
  tool({
    name: "list_runs",
    title: "List runs",
    description: "Lists the runs that agents started, newest first, with their status.",
    input: {},
    output: z.looseObject({ runs: z.array(documentSchemas.runLine) }),
    isReadOnly: true,
    async run(_input, { session }) {
      const rows = await session.runs();
      return json({ runs: rows.map(runLine) });
    },
  }),
  tool({
    name: "run_status",
    title: "Status of a run",
    description: "Returns the status, cost, steps and outputs of a run, and what it is waiting for.",
    input: { run: runId },
    output: agentSchema,
    isReadOnly: true,
    run: async ({ run }, { session }) => json(await agentDocument(session, await session.report(run))),
  }),
  tool({
    name: "wait_for_run",
    title: "Wait for a run",
    description:
      "Waits until a run ends or pauses, or the timeout expires, then returns its status. Call it again if the run is still running.",
    input: {
      run: runId,
      timeout_seconds: z.number().int().min(1).max(LONGEST_WAIT_SECONDS).default(DEFAULT_WAIT_SECONDS),
    },
    output: agentSchema,
    isReadOnly: true,
    async run({ run, timeout_seconds: seconds }, { session, signal, progress }) {
      const report = await session.wait(run, seconds * 1000, signal, ({ steps, cost }) => {
        const over = steps.filter(({ finished_at: finishedAt }) => finishedAt !== null).length;
        progress(over, steps.length, `${over} of ${steps.length} steps, ${cost} dollars`);
      });
      return json(await agentDocument(session, report));
    },
  }),
  tool({
    name: "resume_run",
    title: "Resume a run",
    description: "Continues a paused or interrupted run within its existing budget. Nothing is paid for twice.",
    input: { run: runId },
    output: agentSchema,
    isReadOnly: false,
    async run({ run }, { session }) {
      await session.resume(run);
      return json(await agentDocument(session, await session.report(run)));
    },
  }),
  tool({
    name: "stop_run",
    title: "Stop a run",
    description:
      "Stops submitting jobs. Jobs already on the service continue and are billed, and their results are collected; then the run pauses.",
    input: { run: runId },
    output: z.looseObject({ id: z.string(), stop: z.literal("requested") }),
    isReadOnly: false,
    async run({ run }, { session }) {
      await session.state(run);
      await session.options.show.stop(run);
      return json({ id: run, stop: "requested" });
    },
  }),
  tool({
    name: "approve_step",
    title: "Decide for a person",
    description:
      "Approves or rejects a step that is waiting for a decision, if the person who started the server allowed that.",
    input: {
      run: runId,
      step,
      decision: z.enum(["approve", "reject"]),
      pick: z
        .number()
        .int()
        .min(1)
        .max(1000)
        .optional()
        .describe("Number of the chosen item, counting from 1, if the step asks for a choice"),
      note: z.string().max(500).optional().describe("Reason for the decision, kept with the run"),
      value: z.json().optional().describe("Replacement for the value shown: text, or JSON that fits the same schema"),
    },
    output: agentSchema,
    isReadOnly: false,
    async run({ run, step: path, ...proposed }, { session, person }) {
      await session.state(run);
      const { allowApprove } = session.options;
      if (!allowApprove && person === null) {
        throw new ToolError(
          "Only a person can approve: this server was started without --allow-approve",
          "show a person what is waiting; they can decide in the terminal or the dashboard",
        );
      }
      const open = (await session.waiting(run)).find((one) => one.step === path);
      if (open === undefined)
        throw new ToolError(
          `Step ${JSON.stringify(path)} is not waiting for a decision`,
          "`run_status` lists the steps that are",
        );
      await session.refuseBeyondLimits(run, proposed.decision);
      await session.decide(open, allowApprove ? proposed : await askedOf(person!, open, proposed));
      return json(await agentDocument(session, await session.report(run)));
    },
  }),
];

export async function agentDocument(session: AgentSession, report: RunDocument): Promise<AgentDocument> {
  const { id, status, seq, budget, out_dir } = report;
  const view = new RunView(await session.state(id));
  const isInterrupted = status === "interrupted";
  const urlOf = (output: StoredOutput) => mediaUri(id, output);
  const document = callerDocument(view, { audience: "agent", isInterrupted, seq, urlOf });
  const steps = document.steps.map((step) => {
    const { model, value } = view.step(step.path)!;
    return { ...step, model, value };
  });
  return { ...document, budget, out_dir, steps };
}
