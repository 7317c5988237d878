import { copyFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type LocalService, type LocalServiceOptions, startLocalService } from "../../../src/local-service/index.ts";
import { chaosProxy, type HttpProxy, type Trouble } from "../../support/proxy.ts";
import { type CliEnd, emptyFolder, root } from "./cli.ts";
import { openShell, type Shell } from "./paste.ts";

/** Longer ones are not read: a reason that repeats itself, a list without an end. */
const longestLine = 500;

/** Somebody who knows the first command and else only what the screen says. */
export class Stranger implements AsyncDisposable {
  readonly cwd = emptyFolder();
  readonly service: LocalService;
  /** Added to the environment of every command. */
  env: Readonly<Record<string, string>>;
  /** What goes wrong with the next request. */
  trouble: (method: string, path: string) => Trouble = () => "none";
  readonly #proxy: HttpProxy;
  readonly #shell: Shell;
  #last: CliEnd = { code: 0, stdout: "", stderr: "" };

  /** In a folder with the three pipelines, a voice sample, and a service of their own. */
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

  /** What the last command wrote for people. */
  get screen(): string {
    return this.#last.stderr;
  }

  /** Types a command, which ends so. Whatever it is, nobody is shown the program's inside or left without a next step. */
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

  /** Pastes a command that stands on the screen: the first, or the first that holds `wanted`. */
  pastes(wanted: RegExp, code: number): Promise<string> {
    const line = commandsOn(this.screen).find((one) => wanted.test(one));
    if (line === undefined) throw new Error(`no command to paste that holds ${wanted}:\n${this.screen}`);
    return this.types(line, code);
  }

  /** What the screen names and a person copies from it. */
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

/** Every command on the screen that ends its line, alone or after what to do first: `add funds, then: showrunner …`. */
function commandsOn(screen: string): readonly string[] {
  return [...screen.matchAll(/(?:^ *|: )(showrunner .*)$/gm)].map(([, command]) => command!);
}
