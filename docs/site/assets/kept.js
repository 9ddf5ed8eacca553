/** What the tab keeps from page to page: nothing where the browser blocks storage, or has none. */
export const kept = storage() ?? { getItem: () => null, setItem() {} };

function storage() {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}
