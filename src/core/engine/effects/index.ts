import { inRun } from "../../api/index.ts";
import type { Command } from "../../run/command.ts";
import { renderingModel, type Substitutes } from "../service/rehearsal.ts";
import type { EffectResult } from "../service/service-answers.ts";
import { chat } from "./chat.ts";
import { download } from "./download.ts";
import type { Effect, EffectContext } from "./effect.ts";
import { upload } from "./ensure-copies.ts";
import { expand } from "./expand.ts";
import { follow, poll, settle } from "./follow.ts";
import { generate } from "./generate.ts";
import { operation } from "./operation.ts";
import { pick } from "./pick.ts";
import { place } from "./place.ts";
import { quote } from "./quote.ts";
import { reuse, submit } from "./submit.ts";
import { task } from "./task.ts";

export type { EffectContext } from "./effect.ts";

const effects: { readonly [T in Command["type"]]: Effect<T> } = {
  chat,
  task,
  generate,
  operation,
  pick,
  expand,
  upload,
  quote,
  submit,
  follow: (command, context) =>
    context.polls === undefined ? follow(command, context) : poll(command, context, context.polls),
  settle,
  download,
  reuse,
  place,
};

/** Returns {@link Substitutes} that make a run call the local service instead of providers. */
export function rehearsal(serviceUrl: string): Substitutes {
  return { generate: (model, step) => renderingModel(serviceUrl, model, step) };
}

export function perform(command: Command, context: EffectContext): Promise<EffectResult> {
  const effect = effects[command.type] as Effect<Command["type"]>;
  const isOurs = usesService.has(command.type) || command.type === "upload";
  return isOurs ? inRun(() => effect(command, context)) : effect(command, context);
}

/** Commands whose progress shows that the service is responding. */
export const reportsProgress: ReadonlySet<Command["type"]> = new Set(["follow", "download"]);
export const usesService: ReadonlySet<Command["type"]> = new Set([
  "chat",
  "quote",
  "submit",
  "follow",
  "settle",
  "download",
]);
