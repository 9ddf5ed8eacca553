export const scopes = [
  'plants:read',
  'plants:write',
  'webhooks:read',
  'webhooks:write',
  'tokens:read',
  'tokens:write',
] as const;
export type Scope = (typeof scopes)[number];

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text);
}
