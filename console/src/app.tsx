import { SignIn } from './pages/sign-in.tsx';
import { place } from './router.ts';
import { pageAt } from './routes.tsx';
import { isRestoring, session } from './session.ts';
import { Shell } from './shell/shell.tsx';

/** The page for the current address, once signed in. Signing in keeps the address. */
export function App() {
  if (isRestoring.value) {
    return (
      <main class="sign-in">
        <p role="status">Signing in…</p>
      </main>
    );
  }
  if (session.value === undefined) return <SignIn />;
  const { path } = place.value;
  return (
    // Reset the state for another user or another webhook.
    <Shell key={session.value.user}>
      <div class="page" key={path}>
        {pageAt(path)}
      </div>
    </Shell>
  );
}
