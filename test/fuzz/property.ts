import type fc from 'fast-check';

/** A check that runs with many generated values. */
export type Property<Value> = {
  name: string;
  arbitrary: fc.Arbitrary<Value>;
  check(value: Value): Promise<void>;
  end(): Promise<void>;
};
