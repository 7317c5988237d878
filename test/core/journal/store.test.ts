import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { createMemoryJournal } from "../../../src/core/journal/open.ts";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { journalContract } from "./contract.ts";
import { ledgersContract } from "./ledgers.ts";
import { operationsContract } from "./operations.ts";
import { createReferenceJournal } from "./reference-journal.ts";

const folder = mkdtempSync(join(tmpdir(), "journal-"));
let files = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

journalContract("memory", async (options) => createMemoryJournal(options));
journalContract("reference", async (options) => createReferenceJournal(options));
journalContract("SQLite", (options) => openSqliteJournal(join(folder, `${++files}.db`), options));

ledgersContract("SQLite", async () => createMemoryJournal(), 300);
operationsContract("SQLite", async () => createMemoryJournal(), 150);
