import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { during, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const picture = pipelineOf("picture", ({ job }) => ({ a: job("a", models.image, { prompt: "a" }) }));

test("a run with an event of unknown type is refused by name, and stands in no other run's way [G47]", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "damaged-run-")), "journal.db");
  const journal = await openSqliteJournal(file);
  const { show, clock, paidService, outDir } = await openFakeShow({ journal });
  await during(
    clock,
    during(clock, show.run(picture, {}, { id: "odd", outDir })).then((run) => run.result()),
  );
  const raw = new DatabaseSync(file);
  raw.exec(`UPDATE events SET body = '{"type":"job.teleported"}' WHERE seq = 3; DELETE FROM snapshots`);
  raw.close();
  await expect(show.resume("odd")).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  await expect(show.show("odd")).rejects.toThrow("job.teleported");
  const run = await during(clock, show.run(picture, {}, { id: "sound", outDir }));
  expect((await during(clock, run.result())).status).toBe("succeeded");
  expect(paidService.submits).toBe(2);
  expect((await show.due()).map(({ runId }) => runId)).toEqual([]);
  await show.close();
  await journal.close();
});
