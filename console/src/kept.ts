/**
 * What the tab keeps across reloads. Where the browser blocks storage, its name throws, or is null in some apps: then
 * nothing outlives a reload.
 */
export const kept: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> = storage();

function storage() {
  try {
    if (sessionStorage) return sessionStorage;
  } catch {}
  const items = new Map<string, string>();
  return {
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, text: string) => void items.set(name, text),
    removeItem: (name: string) => void items.delete(name),
  };
}
