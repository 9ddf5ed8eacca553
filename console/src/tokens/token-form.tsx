import { type Signal, useSignal } from '@preact/signals';
import type { TokenInput } from '../../../packages/client/src/client.ts';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Checkbox, Choice, Field } from '../components/field.tsx';
import { FailureNotice } from '../components/notice.tsx';
import { type FieldErrors, useForm } from '../form.ts';
import { hold } from '../hold.ts';
import { may, type Scope, store } from '../session.ts';
import { type NewToken, ShowToken, withToken } from './new-token.tsx';

/** What each scope allows. */
const SCOPES: readonly [scope: Scope, allows: string][] = [
  ['plants:read', 'List plants'],
  ['plants:write', 'Create and delete plants'],
  ['webhooks:read', 'View webhooks, deliveries and events'],
  ['webhooks:write', 'Create, change, test and delete webhooks'],
  ['tokens:read', 'List your tokens'],
  ['tokens:write', 'Create, rotate and revoke your tokens'],
];

const LIFETIMES = [
  { value: '', label: 'When yours does, or never' },
  { value: '3600', label: 'In 1 hour' },
  { value: '86400', label: 'In 1 day' },
  { value: '2592000', label: 'In 30 days' },
  { value: '7776000', label: 'In 90 days' },
  { value: '31536000', label: 'In 1 year' },
];

const MOST_CHARACTERS = 255;

/** `scopes`: separated by spaces. `expiresIn`: seconds, or empty. */
type TokenText = { label: string; scopes: string; expiresIn: string };

/** Creates a token, then shows it. */
export function CreateToken({ onCreated, onClose }: { onCreated(): void; onClose(): void }) {
  const made = useSignal<NewToken | undefined>(undefined);
  if (made.value) return <ShowToken made={made.value} title="The token is ready" onClose={onClose} />;
  return <TokenForm made={made} onCreated={onCreated} onClose={onClose} />;
}

type FormProps = { made: Signal<NewToken | undefined>; onCreated(): void; onClose(): void };

function TokenForm({ made, onCreated, onClose }: FormProps) {
  const before: TokenText = { label: '', scopes: '', expiresIn: '' };
  const { text, errors, failure, isBusy, element, change, submit } = useForm(before, {
    check: errorsOf,
    fieldOf: () => undefined,
    async save(chosen, idempotencyKey) {
      // Leaving before the response would lose the token.
      const release = hold();
      try {
        made.value = withToken(await store().tokens.create(inputOf(chosen), { idempotencyKey }));
      } finally {
        onCreated();
        release();
      }
    },
  });
  const chosen = text.value.scopes.split(' ').filter(Boolean);

  return (
    <Dialog title="Create a token" onClose={onClose} isLocked={isBusy.value}>
      <form ref={element} onSubmit={submit} noValidate>
        <FailureNotice failure={failure} />
        <Field
          label="Label"
          isOptional
          hint="Which program uses it, and where."
          value={text.value.label}
          onInput={change('label')}
          error={errors.value.label}
          autocomplete="off"
          autofocus
        />
        <fieldset class="scopes">
          <legend>It may</legend>
          {SCOPES.filter(([scope]) => may(scope)).map(([scope, allows]) => (
            <Checkbox
              key={scope}
              label={allows}
              isChecked={chosen.includes(scope)}
              onChange={(isChecked) => {
                const others = chosen.filter((one) => one !== scope);
                change('scopes')([...others, ...(isChecked ? [scope] : [])].join(' '));
              }}
            />
          ))}
          {errors.value.scopes && (
            <p class="error" role="alert">
              {errors.value.scopes}
            </p>
          )}
        </fieldset>
        <Choice
          label="Expires"
          value={text.value.expiresIn}
          options={LIFETIMES}
          onChange={change('expiresIn')}
        />
        <footer>
          <Button onClick={onClose} refusal={isBusy.value ? 'Creating the token.' : undefined}>
            Cancel
          </Button>
          <Button type="submit" look="primary" isBusy={isBusy.value}>
            Create
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function errorsOf({ label, scopes }: TokenText): FieldErrors<TokenText> {
  return {
    ...([...label].length > MOST_CHARACTERS
      ? { label: `A label has at most ${MOST_CHARACTERS} characters.` }
      : {}),
    ...(scopes === '' ? { scopes: 'Choose what the token may do.' } : {}),
  };
}

function inputOf({ label, scopes, expiresIn }: TokenText): TokenInput {
  return {
    label,
    scopes: SCOPES.map(([scope]) => scope).filter((scope) => scopes.split(' ').includes(scope)),
    ...(expiresIn === '' ? {} : { expiresIn: Number(expiresIn) }),
  };
}
