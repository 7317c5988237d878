import { dirname } from "node:path";

/** True for the URL of a journal on PostgreSQL, and false for a path. */
export function isPostgresUrl(location: string): boolean {
  return /^postgres(ql)?:\/\//i.test(location);
}

/** A journal as messages name it: the path, or the URL without its password and parameters. */
export function shownJournal(location: string): string {
  if (!isPostgresUrl(location)) return location;
  const url = URL.parse(location);
  if (url === null) return "postgres://…";
  const { username, host, pathname } = url;
  return `postgres://${username === "" ? "" : `${username}@`}${host}${pathname}`;
}

/** A word of a command line with PASSWORD in place of a database's password, to be typed again. */
export function withoutPassword(word: string): string {
  const [, start, rest = ""] = /^((?:--journal=)?postgres(?:ql)?:\/\/)(.*)$/is.exec(word) ?? [];
  if (start === undefined) return word;
  const masked = rest.replace(/^([^:@/]*):.*@/s, "$1:PASSWORD@").replace(/([?&][^=&]*password=)[^&]*/gi, "$1PASSWORD");
  return start + masked;
}

/** Where what belongs to a journal lies on this machine: beside its file. A database's is the default folder. */
export function folderOfJournal(location: string): string {
  return isPostgresUrl(location) ? ".showrunner" : dirname(location);
}
