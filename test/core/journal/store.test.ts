import { createMemoryJournal } from "../../../src/core/journal/open.ts";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { journalContract } from "./contract.ts";
import { ledgersContract } from "./ledgers.ts";
import { operationsContract } from "./operations.ts";
import { createReferenceJournal } from "./reference-journal.ts";
import { newPath } from "./samples.ts";

journalContract("memory", async (options) => createMemoryJournal(options));
journalContract("reference", async (options) => createReferenceJournal(options));
journalContract("SQLite", (options) => openSqliteJournal(newPath(), options));

ledgersContract("SQLite", async () => createMemoryJournal(), 300);
operationsContract("SQLite", async () => createMemoryJournal(), 150);
