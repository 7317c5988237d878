type Sqlite = typeof import("node:sqlite");

let loaded: Sqlite | undefined;

/** Loads Node's SQLite without its experimental warning on Node 22. */
export function loadSqlite(): Sqlite {
  if (loaded !== undefined) return loaded;
  const emitWarning = process.emitWarning;
  const patched = (...args: unknown[]): void => {
    if (!isSqliteWarning(args)) Reflect.apply(emitWarning, process, args);
  };
  process.emitWarning = patched;
  try {
    loaded = process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
  return loaded;
}

function isSqliteWarning([warning, type]: readonly unknown[]): boolean {
  return type === "ExperimentalWarning" && String(warning).includes("SQLite");
}
