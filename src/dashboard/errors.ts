import { ShowrunnerError } from "../index.ts";

/** Another program listens where the dashboard was to. */
export class PortInUseError extends ShowrunnerError {
  readonly code = "DASHBOARD_PORT_IN_USE";
  readonly port: number;

  constructor(port: number, cause: unknown) {
    super(`Port ${port} is taken by another program. Choose another one: showrunner dashboard --port 0`, { cause });
    this.port = port;
  }
}
