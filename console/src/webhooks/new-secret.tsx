import type { ComponentChildren } from 'preact';
import { Notice } from '../components/notice.tsx';
import { Secret } from '../components/secret.tsx';
import { ShownOnce } from '../secrets/shown-once.tsx';

type NewSecretProps = {
  title: string;
  secret: string;
  publicKey: string;
  onClose(): void;
  children?: ComponentChildren;
};

/** Shows the secret of a webhook, and how to use it. */
export function NewSecret({ title, secret, publicKey, onClose, children }: NewSecretProps) {
  return (
    <ShownOnce title={title} what="secret" onClose={onClose}>
      {children}
      <Notice kind="warn">The secret is shown only once. Store it where your receiver can read it.</Notice>
      <Secret name="Secret" value={secret}>
        Your receiver uses it to verify that a request comes from this service.
      </Secret>
      <Secret name="Public key" value={publicKey}>
        Verifies the same requests without a secret (ed25519).
      </Secret>
      <details>
        <summary>Verify in JavaScript</summary>
        <pre>
          <code>{SNIPPET}</code>
        </pre>
      </details>
    </ShownOnce>
  );
}

const SNIPPET = `import { verifyWebhook } from 'plant-store/client';

// Throws when the request is not genuine. Pass the body as received, not parsed.
const { id, payload } = await verifyWebhook(request.headers, body, process.env.SECRET);`;
