import { dirname } from "node:path";

export function isPostgresUrl(location: string): boolean {
  return /^postgres(ql)?:\/\//i.test(location);
}

export function shownJournal(location: string): string {
  if (!isPostgresUrl(location)) return location;
  const url = URL.parse(location);
  if (url === null) return "postgres://…";
  const { username, host, pathname } = url;
  return `postgres://${username === "" ? "" : `${username}@`}${host}${pathname}`;
}

/** Replaces a database password in a command-line argument with PASSWORD, for commands that people copy. */
export function withoutPassword(word: string): string {
  const [, start, rest = ""] = /^((?:--journal=)?postgres(?:ql)?:\/\/)(.*)$/is.exec(word) ?? [];
  if (start === undefined) return word;
  const masked = rest.replace(/^([^:@/]*):.*@/s, "$1:PASSWORD@").replace(/([?&][^=&]*password=)[^&]*/gi, "$1PASSWORD");
  return start + masked;
}

export function folderOfJournal(location: string): string {
  return isPostgresUrl(location) ? ".showrunner" : dirname(location);
}
