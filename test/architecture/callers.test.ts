import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { expect, test } from "vitest";

const src = resolve(import.meta.dirname, "../../src");
/** Files whose answers leave for callers: customers, agents, holders of review links. */
const ROUTES = [
  ...["studio/handler/**/*.ts", "studio/mcp/**/*.ts", "studio/dashboard/links/**/*.ts"],
  "core/view/caller-document.ts",
];
/** What an error, a failed step or a paused run says, whatever it is called where it is read. */
const WORDS = new Set(["message", "stack", "cause", "reason", "serviceMessage", "details", "fundingUrl", "errors"]);

/** Where words are read that are no error's, or go to the operator; with what they are. */
const READ: Readonly<Record<string, string>> = {
  "core/view/caller-document.ts callerDocument reason": "of a pause: its code",
  "core/view/caller-document.ts callerEvent.why reason": "of a pause: its code",
  "core/view/caller-document.ts waitingStep message": "of an open decision: the author's question",
  "studio/dashboard/links/link-routes.ts linkRoutes.continued reason": "of a pause: its code",
  "studio/dashboard/links/shared-decisions.ts decidedIn.isVerdict message": "of the inbox",
  "studio/handler/create-handler.ts authorizeError message": "for the operator's log",
  "studio/handler/create-handler.ts refused message": "of a refusal that studio/served/for-callers.ts made",
  "studio/mcp/person.ts askedOf message": "of an open decision: the author's question",
  "studio/mcp/transports.ts refused message": "of a refusal that was made there",
  "studio/mcp/transports.ts startHttp String of an error": "for the log of who started the server",
  "studio/mcp/session.ts AgentSession.drive String of an error": "for the log of who started the server",
  "studio/mcp/tasks.ts taskOf message": "of a document for callers",
  "studio/mcp/tool-error.ts agentError message": "of a refusal that studio/served/for-callers.ts made",
  "studio/mcp/tool-error.ts errorText message": "of a ToolError, whose words are ours, or of such a refusal",
  "studio/mcp/tool-error.ts reportTo.report String of an error": "for the log of who started the server",
  "studio/mcp/tools/pipelines.ts planned.lines message": "of problems that studio/served/for-callers.ts made",
  "studio/mcp/tasks.ts taskOf reason": "of a pause: its code",
};

test("no route answers with the words of an error or of a run's failure: one place says what callers learn", () => {
  const found = ROUTES.flatMap((pattern) => globSync(pattern, { cwd: src })).flatMap((path) => {
    const name = path.replaceAll("\\", "/");
    return wordsRead(readFileSync(join(src, path), "utf8")).map((place) => `${name} ${place}`);
  });
  expect([...new Set(found)].toSorted()).toEqual(Object.keys(READ).toSorted());
});

test.each([
  ["function a() { try {} catch (error) { return error.message; } }", ["a message"]],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
  ["const a = (error: Error) => ({ error: `it ${error}` });", ["a template of an error"]],
  ["class A { b({ message: said }: Error) { return said; } }", ["A.b message"]],
  [
    "const a = ({ pause }: S) => pause?.message ?? String(pause.cause);",
    ["a message", "a String of an error", "a cause"],
  ],
  ['const a = (error: E) => JSON.stringify({ m: error["message"] });', ["a message"]],
  ["const a = (error: unknown) => JSON.stringify(error);", ["a stringify of an error"]],
  ["const a = () => ({ message: 'ours' });", []],
])("in %s, it sees %j", (text, places) => {
  expect(wordsRead(text)).toEqual(places);
});

interface Node {
  readonly type: string;
  readonly [part: string]: unknown;
}

/** Each place that reads a word of {@link WORDS}, or makes a text of an error: what it is in, and what it reads. */
function wordsRead(text: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: Node, around: readonly string[]): void => {
    found.push(...readBy(node).map((read) => `${around.slice(0, 2).join(".")} ${read}`));
    const own = nameOf(node);
    const inner = own === null ? around : [...around, own];
    for (const part of Object.values(node).flat()) if (isNode(part)) visit(part, inner);
  };
  visit(parseAst(text, { lang: "ts" }) as unknown as Node, []);
  return found;
}

function readBy(node: Node): readonly string[] {
  const { type } = node;
  if (type === "MemberExpression") return [textOf(node["property"])].filter((name) => WORDS.has(name));
  if (type === "ObjectPattern")
    return (node["properties"] as Node[]).map(({ key }) => textOf(key)).filter((name) => WORDS.has(name));
  if (type === "TemplateLiteral")
    return (node["expressions"] as Node[]).filter(isError).map(() => "template of an error");
  const called = type === "CallExpression" ? textOf(node["callee"]) : "";
  if (!["String", "stringify", "inspect", "format"].includes(called)) return [];
  return (node["arguments"] as Node[]).filter(isError).map(() => `${called} of an error`);
}

/** The last name of an expression. */
function textOf(node: unknown): string {
  if (!isNode(node)) return "";
  return String(node["name"] ?? node["value"] ?? textOf(node["property"] ?? node["key"]));
}

function isError(node: Node): boolean {
  return /^(e|err|error|logged|cause|failure|thrown)$/.test(textOf(node));
}

function nameOf(node: Node): string | null {
  const isNamed = /^(FunctionDeclaration|ClassDeclaration|VariableDeclarator)$/.test(node.type);
  if (isNamed) return textOf(node["id"]) || null;
  return node.type === "MethodDefinition" ? textOf(node["key"]) : null;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}
