import type { Webhook } from '../../../packages/client/src/client.ts';
import { dateAndTime } from '../format.ts';
import { Rotation } from '../secrets/rotation.tsx';
import { store } from '../session.ts';
import { NewSecret } from './new-secret.tsx';

/** Creates a new secret and shows it. */
export function SecretRotation({ webhook, onClose }: { webhook: Webhook; onClose(): void }) {
  const { id, publicKey } = webhook;
  return (
    <Rotation
      title="Rotate the secret"
      rotate={(options) => store().webhooks.rotateSecret(id, options)}
      shown={({ secret, overlapUntil }, isKept) => (
        <NewSecret title="The new secret" secret={secret} publicKey={publicKey} onClose={onClose}>
          <p>
            {isKept
              ? `The old one also signs until ${dateAndTime(overlapUntil)}.`
              : 'The old one no longer signs.'}
          </p>
        </NewSecret>
      )}
      onClose={onClose}
    >
      <p>
        The new secret takes effect at once. While both sign, your receiver still accepts the old one, so you
        have time to replace it there.
      </p>
    </Rotation>
  );
}
