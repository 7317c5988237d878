import { homedir } from "node:os";
import { ShowrunnerError } from "./errors.ts";
import { installCommand } from "./own-version.ts";

const NAME = "showrunner-local";

/** The local service is not installed; it is a separate package. */
export class LocalServiceMissingError extends ShowrunnerError {
  readonly code = "LOCAL_SERVICE_MISSING";
  readonly next = installCommand(NAME);

  constructor(cause: unknown) {
    super(
      `The local service is not installed: add the package ${NAME}, or set SHOWRUNNER_BASE_URL and SHOWRUNNER_API_KEY to use a hosted service.`,
      { cause },
    );
  }
}

export async function loadLocalService(): Promise<typeof import("showrunner-local")> {
  ensureHome();
  try {
    return await import("showrunner-local");
  } catch (error) {
    throw isMissing(error) ? new LocalServiceMissingError(error) : error;
  }
}

/**
 * Makes sure that a home folder is set, because the drawing library looks for fonts there. Some containers have none.
 */
function ensureHome(): void {
  try {
    homedir();
  } catch {
    process.env["HOME"] = "/";
  }
}

function isMissing(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === "ERR_MODULE_NOT_FOUND" && message.includes(`package '${NAME}'`);
}
