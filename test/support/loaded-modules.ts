const code = `import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) { process.stderr.write("loaded " + url + "\\n"); return next(url, context); } });`;

/** For Node's `--import`: writes the address of each module that is loaded to stderr. */
export const LIST_MODULES = `data:text/javascript,${encodeURIComponent(code)}`;

/** Reads the loaded modules from the stderr of {@link LIST_MODULES}: packages by name, and files outside packages. */
export function loadedModules(stderr: string, ownPackage = "showrunner") {
  const urls = [...stderr.matchAll(/^loaded (file:.*)$/gm)].map(([, url = ""]) => url);
  const packageOf = (url: string) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? ownPackage;
  const packages = [...new Set(urls.map(packageOf))].filter((name) => name !== ownPackage).sort();
  return { packages, own: urls.filter((url) => packageOf(url) === ownPackage) };
}
