import { registerHooks } from 'node:module';

/** From now on, loads the module with the URL `by` instead of the project's file at `path`. */
export function replaceModule(path: string, by: string): void {
  const replaced = new URL(`../../${path}`, import.meta.url).href;
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      return found.url === replaced ? { ...found, url: by } : found;
    },
  });
}
