import { JournalDriverMissingError } from "../errors.ts";

/** Loads the driver when a journal is first opened on PostgreSQL; other installs do not need it. */
export async function loadDriver(place: string): Promise<typeof import("pg")> {
  try {
    return await import("pg");
  } catch (error) {
    throw isMissing(error) ? missing(place, error) : error;
  }
}

function missing(place: string, cause: unknown): JournalDriverMissingError {
  const message = `The journal ${place} is on PostgreSQL, and its driver is not installed. Add it with: npm install pg`;
  return new JournalDriverMissingError(place, message, { cause });
}

/** True if the driver itself is missing, not one of its dependencies. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === "ERR_MODULE_NOT_FOUND" && message.includes("package 'pg'");
}
