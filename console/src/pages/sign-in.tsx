import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Checkbox, Field } from '../components/field.tsx';
import { Logo } from '../components/logo.tsx';
import { Notice } from '../components/notice.tsx';
import { apiUrl, recoveries } from '../connection.ts';
import { nextTakesFocus } from '../router.ts';
import { restoreSession, session, signedOutBecause, signIn } from '../session.ts';

/** Asks for a token. The address stays, so that signing in returns to the same page. */
export function SignIn() {
  const token = useSignal('');
  const keep = useSignal(false);
  const error = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const input = useRef<HTMLInputElement>(null);

  useEffect(() => {
    document.title = 'Sign in · Plant Store';
    input.current?.focus();
    return nextTakesFocus;
  }, []);
  // A reload while the service restarted could not use the token that this tab has kept.
  useSignalEffect(() => {
    if (recoveries.value > 0 && !isBusy.peek()) void restoreSession();
  });

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (isBusy.value) return;
    const given = token.value.trim();
    error.value = given === '' ? 'Paste a token here.' : undefined;
    if (error.value === undefined) {
      isBusy.value = true;
      error.value = await signIn(given, { keep: keep.value });
      isBusy.value = false;
    }
    if (session.peek() === undefined) input.current?.focus();
  }

  return (
    <main class="sign-in">
      <div class="card">
        <Logo />
        <div>
          <h1>Plant Store</h1>
          <p class="lead">Sign in with an access token.</p>
        </div>
        {signedOutBecause.value && (
          <div role="alert">
            <Notice kind="warn">{signedOutBecause.value}</Notice>
          </div>
        )}
        <form onSubmit={submit} noValidate>
          <Field
            label="Token"
            type="password"
            value={token.value}
            onInput={(value) => (token.value = value)}
            error={error.value}
            inputRef={input}
            autocomplete="off"
            placeholder="pst_…"
          />
          <Checkbox
            label="Keep until this tab closes"
            hint="Then a reload does not ask again. Otherwise the token is kept only in memory."
            isChecked={keep.value}
            onChange={(isChecked) => (keep.value = isChecked)}
          />
          <Button type="submit" look="primary" isBusy={isBusy.value}>
            Sign in
          </Button>
        </form>
        <details>
          <summary>Where do I get a token?</summary>
          <p>The first start of the service prints one, once. The operator can create more:</p>
          <pre>
            <code>plant-store token create --user NAME</code>
          </pre>
        </details>
      </div>
      <p class="sign-in-foot">
        <a href={new URL('docs/', apiUrl).href}>Documentation</a>
      </p>
    </main>
  );
}
