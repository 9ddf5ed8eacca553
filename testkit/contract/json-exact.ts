/** JSON read without rounding: an integer becomes a bigint, whatever its size. */
export function parseExact(text: string): unknown {
  // TypeScript's declaration does not know the third argument yet (ES2026).
  return JSON.parse(text, ((_name: string, value: unknown, context: { source?: string }) =>
    typeof value === 'number' && /^-?\d+$/.test(context.source ?? '')
      ? BigInt(context.source ?? '')
      : value) as (name: string, value: unknown) => unknown);
}
