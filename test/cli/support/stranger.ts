import { copyFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type LocalService, type LocalServiceOptions, startLocalService } from "../../../src/local-service/index.ts";
import { chaosProxy, type HttpProxy, type Trouble } from "../../support/proxy.ts";
import { type CliEnd, emptyFolder, root } from "./cli.ts";
import { openShell, type Shell } from "./paste.ts";

/** Maximum length of a line that a person would read; longer lines are repetitive reasons or endless lists. */
const longestLine = 500;

/** Simulates a person who knows only the first command, and then follows the screen. */
export class Stranger implements AsyncDisposable {
  readonly cwd = emptyFolder();
  readonly service: LocalService;
  /** Variables that are added to the environment of every command. */
  env: Readonly<Record<string, string>>;
  /** Chooses the trouble of the next request. */
  trouble: (method: string, path: string) => Trouble = () => "none";
  readonly #proxy: HttpProxy;
  readonly #shell: Shell;
  #last: CliEnd = { code: 0, stdout: "", stderr: "" };

  /** Creates a stranger in a folder with three pipelines, a voice sample and a new service. */
  static async arrives(options: LocalServiceOptions = {}): Promise<Stranger> {
    const rateLimit = { requests: 1e6, windowMs: 60_000 };
    const service = await startLocalService({ renderer: "stub", rateLimit, ...options });
    let stranger: Stranger | null = null;
    const proxy = await chaosProxy(service.baseUrl, (method, path) => stranger?.trouble(method, path) ?? "none");
    stranger = new Stranger(service, proxy);
    return stranger;
  }

  private constructor(service: LocalService, proxy: HttpProxy) {
    this.service = service;
    this.#proxy = proxy;
    cpSync(join(root, "test/cli/fixtures/stranger"), this.cwd, { recursive: true });
    copyFileSync(join(root, "recipes/assets/voice-sample.wav"), join(this.cwd, "sample.wav"));
    this.env = { SHOWRUNNER_BASE_URL: proxy.baseUrl, SHOWRUNNER_API_KEY: service.apiKey };
    this.#shell = openShell(this.cwd, () => this.env);
  }

  /** The text that the last command wrote for people. */
  get screen(): string {
    return this.#last.stderr;
  }

  /** Types a command and checks its exit code. Its output must not show internals, and must suggest a next step. */
  async types(line: string, code: number | null, started?: (shell: { kill(): void }) => void): Promise<string> {
    const end = await this.#shell.paste(line, started);
    const shown = `$ ${line}\n${end.stdout}${end.stderr}`;
    expect(end.code, shown).toBe(code);
    expect(end.stderr, shown).not.toMatch(/^ +at |\[object |\bundefined\b|\bNaN\b|unhandled/im);
    expect(Math.max(...end.stderr.split("\n").map(({ length }) => length)), shown).toBeLessThan(longestLine);
    if (code !== null && code !== 0) expect(end.stderr, shown).toMatch(/^Next: \S/m);
    this.#last = end;
    return end.stderr;
  }

  /** Pastes the first command on the screen that matches `wanted`. */
  pastes(wanted: RegExp, code: number): Promise<string> {
    const line = commandsOn(this.screen).find((one) => wanted.test(one));
    if (line === undefined) throw new Error(`no command to paste that holds ${wanted}:\n${this.screen}`);
    return this.types(line, code);
  }

  /** Returns the text that a person copies from the screen. */
  copies(pattern: RegExp): string {
    const found = pattern.exec(this.screen)?.[1];
    if (found === undefined) throw new Error(`the screen does not show ${pattern}:\n${this.screen}`);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy.close();
    await this.service.close();
  }
}

/** Finds the commands at the end of lines on the screen, such as `add funds, then: showrunner …`. */
function commandsOn(screen: string): readonly string[] {
  return [...screen.matchAll(/(?:^ *|: )(showrunner .*)$/gm)].map(([, command]) => command!);
}
