import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { IconButton } from '../components/button.tsx';
import { Icon, type IconName } from '../components/icon.tsx';
import { Logo } from '../components/logo.tsx';
import { Toasts } from '../components/toasts.tsx';
import { apiUrl, outage } from '../connection.ts';
import { href, place } from '../router.ts';
import { session, signOut } from '../session.ts';
import { Shortcuts, ShortcutsButton } from './shortcuts.tsx';

const SECTIONS: readonly { path: string; label: string; icon: IconName }[] = [
  { path: '/', label: 'Overview', icon: 'overview' },
  { path: '/plants', label: 'Plants', icon: 'plants' },
  { path: '/webhooks', label: 'Webhooks', icon: 'webhooks' },
  { path: '/deliveries', label: 'Deliveries', icon: 'deliveries' },
  { path: '/tokens', label: 'Tokens', icon: 'key' },
];

/** The frame around every page: navigation, the signed-in user, and whether the service answers. */
export function Shell({ children }: { children: ComponentChildren }) {
  const main = useRef<HTMLElement>(null);
  return (
    <div class="shell">
      {/* Not a link: the address belongs to the pages. */}
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="side">
        <a class="brand" href={href('/')}>
          <Logo />
          <span>Plant Store</span>
        </a>
        <nav class="sections" aria-label="Sections">
          {SECTIONS.map((section) => (
            <SectionLink key={section.path} {...section} />
          ))}
        </nav>
        <Account />
      </header>
      <main ref={main} tabIndex={-1}>
        <Outage />
        {children}
        <Shortcuts />
      </main>
      <Toasts />
    </div>
  );
}

function SectionLink({ path, label, icon }: (typeof SECTIONS)[number]) {
  const current = place.value.path;
  const isHere = path === '/' ? current === '/' : current === path || current.startsWith(`${path}/`);
  return (
    <a href={href(path)} aria-current={isHere ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{label}</span>
    </a>
  );
}

function Account() {
  return (
    <div class="account">
      {/* In this tab it would end the session. */}
      <a
        class="docs"
        href={new URL('docs/', apiUrl).href}
        target="_blank"
        rel="noopener"
        title="Documentation, in a new tab"
      >
        <Icon name="book" />
        <span>Documentation</span>
      </a>
      <div class="who">
        <span class="user" title={`You are signed in as ${session.value?.user}`}>
          {session.value?.user}
        </span>
        <ShortcutsButton />
        <IconButton icon="leave" label="Sign out" onClick={() => signOut()} />
      </div>
    </div>
  );
}

/** Always rendered, so that its text is read out when it appears. */
function Outage() {
  return (
    <div role="status" class="outage">
      {outage.value && (
        <p>
          <Icon name="alert" /> {outage.value}
        </p>
      )}
    </div>
  );
}
