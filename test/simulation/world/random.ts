/** Seeded random numbers (sfc32). */
export type Random = {
  /** From 0 up to, but not including, 1. */
  next(): number;
  /** An integer between both bounds, inclusive. */
  whole(from: number, to: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** An independent generator, so that more draws here change nothing there. */
  fork(name: string): Random;
};

export function createRandom(seed: number, name = ''): Random {
  const next = sfc32(seed, hashOf(name));
  const whole = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));
  return {
    next,
    whole,
    chance: (probability) => next() < probability,
    // Callers never pass an empty list.
    pick: <T>(from: readonly T[]) => from[whole(0, from.length - 1)] as T,
    fork: (part) => createRandom(seed, `${name}/${part}`),
  };
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash | 0;
}

function sfc32(seed: number, stream: number): () => number {
  let [a, b, c, counter] = [seed | 0, stream, Math.trunc(seed / 2 ** 32) | 0, 1];
  function next(): number {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }
  // The first numbers of similar seeds are similar.
  for (let i = 0; i < 15; i++) next();
  return next;
}
