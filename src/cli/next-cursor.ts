/**
 * The cursor in a `Link` header; undefined behind the last page. Only the cursor of the link is followed: it may lead to
 * the public URL of the service, where the token was not meant to go.
 */
export function nextCursor(link: string | null): string | undefined {
  const [, target] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(link ?? '') ?? [];
  if (target === undefined) return undefined;
  return URL.parse(target, 'http://any')?.searchParams.get('cursor') ?? undefined;
}
