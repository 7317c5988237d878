import { dirname } from "node:path";

export function isPostgresUrl(location: string): boolean {
  return /^postgres(ql)?:\/\//i.test(location);
}

/** A journal's name for messages: its path, or its URL without password and parameters. */
export function shownJournal(location: string): string {
  if (!isPostgresUrl(location)) return location;
  const url = URL.parse(location);
  if (url === null) return "postgres://…";
  const { username, host, pathname } = url;
  return `postgres://${username === "" ? "" : `${username}@`}${host}${pathname}`;
}

/** Replaces a database password in a command-line argument by PASSWORD, for commands that people are to type again. */
export function withoutPassword(word: string): string {
  const [, start, rest = ""] = /^((?:--journal=)?postgres(?:ql)?:\/\/)(.*)$/is.exec(word) ?? [];
  if (start === undefined) return word;
  const masked = rest.replace(/^([^:@/]*):.*@/s, "$1:PASSWORD@").replace(/([?&][^=&]*password=)[^&]*/gi, "$1PASSWORD");
  return start + masked;
}

/** The folder for a journal's local files: the journal file's folder, or the default folder for a database. */
export function folderOfJournal(location: string): string {
  return isPostgresUrl(location) ? ".showrunner" : dirname(location);
}
