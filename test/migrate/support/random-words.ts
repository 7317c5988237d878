/** Exports everything that a migrated source imports from the package. */
export * from "../../../src/core/define/index.ts";
export { shiftSound } from "../../../src/migrate/index.ts";
