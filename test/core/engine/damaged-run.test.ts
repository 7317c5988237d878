import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { models, newFolder, openFakeShow, pipelineOf } from "../../support/engine.ts";

const picture = pipelineOf("picture", ({ job }) => ({ a: job("a", models.image, { prompt: "a" }) }));

test("a run with an event of unknown type is refused by name, and stands in no other run's way [G47]", async () => {
  const file = join(newFolder(), "journal.db");
  const journal = await openSqliteJournal(file);
  const { show, paidService, run } = await openFakeShow({ journal });
  await run(picture, {}, { id: "odd" });
  const raw = new DatabaseSync(file);
  raw.exec(`UPDATE events SET body = '{"type":"job.teleported"}' WHERE seq = 3; DELETE FROM snapshots`);
  raw.close();
  await expect(show.resume("odd")).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  await expect(show.show("odd")).rejects.toThrow("job.teleported");
  expect((await run(picture, {}, { id: "sound" })).status).toBe("succeeded");
  expect([paidService.submits, await show.due()]).toEqual([2, []]);
  await show.close();
  await journal.close();
});
