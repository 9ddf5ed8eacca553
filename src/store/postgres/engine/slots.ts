/** Limits the slots in use; waiters are served in order, within `waitMs`. */
export function createSlots(count: number, waitMs: number) {
  const waiting: { take(): void }[] = [];
  let free = count;

  function giveBack(): void {
    const next = waiting.shift();
    if (next) next.take();
    else free++;
  }

  function slot(): () => void {
    let isGivenBack = false;
    return () => {
      if (!isGivenBack) giveBack();
      isGivenBack = true;
    };
  }

  return {
    /** Resolves with a function that releases the slot. */
    take(): Promise<() => void> {
      if (free > 0) {
        free--;
        return Promise.resolve(slot());
      }
      return new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.splice(waiting.indexOf(entry), 1);
          reject(new Error(`No connection to the database became free within ${waitMs} ms.`));
        }, waitMs);
        const entry = {
          take() {
            clearTimeout(late);
            resolve(slot());
          },
        };
        waiting.push(entry);
      });
    },
  };
}
