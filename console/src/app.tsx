import { Shell } from './components/shell.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { place } from './router.ts';
import { pageAt } from './routes.tsx';
import { isRestoring, session } from './session.ts';

/** The page that the address names, for whoever is signed in; the address stays while somebody signs in. */
export function App() {
  if (isRestoring.value) return null;
  if (session.value === undefined) return <SignIn />;
  const { path } = place.value;
  return (
    // Another user starts afresh; so does another webhook.
    <Shell key={session.value.user}>
      <div class="page" key={path}>
        {pageAt(path)}
      </div>
    </Shell>
  );
}
