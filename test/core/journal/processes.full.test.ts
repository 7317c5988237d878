import { join } from "node:path";
import { newFolder } from "../../support/temporary-folder.ts";
import { interleavingsContract } from "./interleavings.ts";
import { processesContract } from "./processes.ts";

const place = () => join(newFolder(), "new", "journal.db");

processesContract("SQLite", place);
interleavingsContract("SQLite", place, process.env.SHOWRUNNER_TEST_RUNS === undefined ? 80 : 1000);
