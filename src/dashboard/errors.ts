import { ShowrunnerError } from "../index.ts";

/** Another program listens where the dashboard was to. */
export class PortInUseError extends ShowrunnerError {
  readonly code = "DASHBOARD_PORT_IN_USE";
  readonly port: number;
  /** The command to type next. */
  readonly next = "showrunner dashboard --port 0   (takes a free one)";

  constructor(port: number, cause: unknown) {
    super(`Port ${port} is taken by another program; choose another one.`, { cause });
    this.port = port;
  }
}
