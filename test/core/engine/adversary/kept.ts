import fc from "fast-check";
import { expect } from "vitest";
import type { Command } from "./commands.ts";
import { live, livesOf } from "./life.ts";
import { simPlans } from "./plans.ts";
import type { WorldOptions } from "./sim-world.ts";

export async function expectKept(options: WorldOptions, commands: readonly Command[]): Promise<void> {
  const world = await live(options, commands);
  if (world.broken !== null) expect.fail(`${world.broken.message}\n${world.log.join("\n")}`);
}

/** Expects that in all lives nothing is paid twice, lost or overspent, and that the instructions on screen end each run. */
export async function expectAllKept(lives: fc.Parameters<[[WorldOptions, Command[]]]>): Promise<void> {
  const property = fc.asyncProperty(livesOf(await simPlans()), ([options, commands]) => expectKept(options, commands));
  await fc.assert(property, lives);
}
