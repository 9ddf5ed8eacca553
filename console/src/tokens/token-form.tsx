import { type Signal, useSignal } from '@preact/signals';
import type { TokenInput } from '../../../packages/client/src/client.ts';
import { Checkbox, Choice, Field } from '../components/field.tsx';
import { FormDialog } from '../components/form-dialog.tsx';
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
  { value: '', label: 'When your own token does' },
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
  const form = useForm(before, {
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
  const { text, errors, change } = form;
  const chosen = text.value.scopes.split(' ').filter(Boolean);

  return (
    <FormDialog title="Create a token" verb="Create" form={form} onClose={onClose}>
      <Field
        label="Label"
        isOptional
        hint="Which program uses it, and where."
        {...form.field('label')}
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
    </FormDialog>
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
