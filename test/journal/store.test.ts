import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { createMemoryJournal } from "../../src/journal/memory.ts";
import { openSqliteJournal } from "../../src/journal/sqlite.ts";
import { journalContract } from "./contract.ts";

const folder = mkdtempSync(join(tmpdir(), "journal-"));
let files = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

journalContract("memory", async (options) => createMemoryJournal(options));
journalContract("SQLite", (options) => openSqliteJournal(join(folder, `${++files}.db`), options));
