/** Numbers from 0 to 1, determined by the seed: mulberry32, good enough to choose moments and moods. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What the tests choose at random depends on it: always the same, unless the environment names another. */
export const testSeed = Number(process.env.SEED ?? 1);
