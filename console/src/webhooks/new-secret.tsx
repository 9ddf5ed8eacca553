import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Checkbox } from '../components/field.tsx';
import { Notice } from '../components/notice.tsx';
import { Secret } from '../components/secret.tsx';
import { hold } from '../hold.ts';

type NewSecretProps = {
  title: string;
  secret: string;
  publicKey: string;
  onClose(): void;
  children?: ComponentChildren;
};

/** Shows a secret once: the dialog stays until the user confirms that they have it. */
export function NewSecret({ title, secret, publicKey, onClose, children }: NewSecretProps) {
  const isKept = useSignal(false);
  useLayoutEffect(() => (isKept.value ? undefined : hold()), [isKept.value]);
  return (
    <Dialog title={title} onClose={onClose} isLocked={!isKept.value}>
      <div class="dialog-body">
        {children}
        <Notice kind="warn">The secret is shown only once. Keep it where your receiver finds it.</Notice>
        <Secret name="Secret" value={secret}>
          With it, your receiver verifies that a request comes from this service.
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
        <Checkbox
          label="I have kept the secret"
          isChecked={isKept.value}
          onChange={(checked) => {
            isKept.value = checked;
          }}
        />
      </div>
      <footer>
        <Button
          look="primary"
          onClick={onClose}
          refusal={isKept.value ? undefined : 'Keep the secret first: it cannot be shown again.'}
        >
          Done
        </Button>
      </footer>
    </Dialog>
  );
}

const SNIPPET = `import { verifyWebhook } from 'plant-store/client';

// Throws when the request is not genuine. Pass the body as received, not parsed.
const { id, payload } = await verifyWebhook(request.headers, body, process.env.SECRET);`;
