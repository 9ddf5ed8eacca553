import type { TokenCreated } from '../../../packages/client/src/client.ts';
import { Notice } from '../components/notice.tsx';
import { Secret } from '../components/secret.tsx';
import { ShownOnce } from '../secrets/shown-once.tsx';

/** Its token is there. */
export type NewToken = TokenCreated & { token: string };

/** @throws Error when the response that had the token was lost, and the retry's does not have it */
export function withToken<Made extends TokenCreated>(made: Made): Made & { token: string } {
  const { token } = made;
  if (token === undefined) {
    throw new Error(
      `The connection was lost before the new token arrived. To get one, close this and rotate the token ${made.id}; choose "no time" for the old one.`,
    );
  }
  return { ...made, token };
}

/** Shows a new token. */
export function ShowToken({ made, title, onClose }: { made: NewToken; title: string; onClose(): void }) {
  return (
    <ShownOnce title={title} what="token" onClose={onClose}>
      <Notice kind="warn">The token is shown only once. Store it where your program can read it.</Notice>
      <Secret name="Token" value={made.token}>
        Programs send it with each request: <code>Authorization: Bearer …</code>
      </Secret>
    </ShownOnce>
  );
}
