/** Reads JSON without rounding: every integer becomes a bigint. */
export function parseExact(text: string): unknown {
  // TypeScript does not declare the third argument (ES2026) yet.
  return JSON.parse(text, ((_name: string, value: unknown, context: { source?: string }) =>
    typeof value === 'number' && /^-?\d+$/.test(context.source ?? '')
      ? BigInt(context.source ?? '')
      : value) as (name: string, value: unknown) => unknown);
}
