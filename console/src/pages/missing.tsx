import { ButtonLink } from '../components/button.tsx';
import { Page } from '../components/page.tsx';
import { Empty } from '../components/states.tsx';
import { href } from '../router.ts';

/** For an unknown address. */
export function Missing() {
  return (
    <Page title="There is no such page">
      <Empty
        icon="plants"
        title="Nothing grows here"
        actions={<ButtonLink href={href('/')}>Go to the overview</ButtonLink>}
      >
        The address may be mistyped, or its page no longer exists.
      </Empty>
    </Page>
  );
}
