/** So many may be in at a time; the others wait in the order in which they came, at most `waitMs`. */
export type Places = {
  /** Resolves with a function that leaves. */
  enter(): Promise<() => void>;
};

export function createPlaces(count: number, waitMs: number): Places {
  const waiting: { enter(): void }[] = [];
  let free = count;

  function leave(): void {
    const next = waiting.shift();
    if (next) next.enter();
    else free++;
  }

  function place(): () => void {
    let left = false;
    return () => {
      if (!left) leave();
      left = true;
    };
  }

  return {
    enter() {
      if (free > 0) {
        free--;
        return Promise.resolve(place());
      }
      return new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.splice(waiting.indexOf(entry), 1);
          reject(new Error(`No connection to the database became free within ${waitMs} ms.`));
        }, waitMs);
        const entry = {
          enter() {
            clearTimeout(late);
            resolve(place());
          },
        };
        waiting.push(entry);
      });
    },
  };
}
