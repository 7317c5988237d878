import { expect, test } from "vitest";
import { isPostgresUrl, shownJournal, withoutPassword } from "../../../src/core/kit/journal-location.ts";

test.each([
  ["postgres://u:s3cr:et@host/db?schema=x", "postgres://u:PASSWORD@host/db?schema=x"],
  ["--journal=postgresql://u:a@b@host/db", "--journal=postgresql://u:PASSWORD@host/db"],
  [
    "postgres://u@host/db?password=s3cret&pool=2&sslpassword=s3cret",
    "postgres://u@host/db?password=PASSWORD&pool=2&sslpassword=PASSWORD",
  ],
  ["postgres://:s3cret@host/db", "postgres://:PASSWORD@host/db"],
  ["postgres://u@host:5432/db", "postgres://u@host:5432/db"],
  ["./journal:a@b.db", "./journal:a@b.db"],
])("A command to type again says %s without the password", (word, shown) => {
  expect(withoutPassword(word)).toBe(shown);
});

test.each([
  ["postgres://u:s3cret@host:5433/db?password=s3cret", "postgres://u@host:5433/db"],
  ["postgresql://host/db", "postgres://host/db"],
  ["postgres://u:s3cret@host:port/db", "postgres://…"],
  ["postgres.db", "postgres.db"],
])("A message names the journal %s as %s", (location, shown) => {
  expect(shownJournal(location)).toBe(shown);
  expect(isPostgresUrl(location)).toBe(shown.startsWith("postgres://"));
});
