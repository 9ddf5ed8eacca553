import type { ComponentChildren } from 'preact';
import { isGone, missingScope, sentenceOf } from '../failure.ts';
import { dateAndTime } from '../format.ts';
import type { Resource } from '../resource.ts';
import { focusHeading, refine } from '../router.ts';
import { session } from '../session.ts';
import { quoted } from '../shell-word.ts';
import { Button, WorkButton } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Notice } from './notice.tsx';

type LoadedProps<T> = {
  resource: Resource<T>;
  /** What is being loaded, as in "Loading plants". */
  what: string;
  children(value: T): ComponentChildren;
};

/** Shows what was loaded; before that, that it is being loaded or why it cannot be; and when it is old. */
export function Loaded<T>({ resource, what, children }: LoadedProps<T>) {
  const { value, error, isLoading, loadedAt } = resource.state.value;
  if (value === undefined) {
    if (error === undefined) return <Skeleton what={what} />;
    return <Failure error={error} what={what} retry={resource.reload} />;
  }
  return (
    <>
      {error !== undefined && loadedAt !== undefined && (
        <Notice
          kind="warn"
          actions={
            <WorkButton look="quiet" icon="refresh" work={resource.reload}>
              Try again
            </WorkButton>
          }
        >
          This is from {dateAndTime(loadedAt)}. {sentenceOf(error)}
        </Notice>
      )}
      <div class="loaded" aria-busy={isLoading}>
        {children(value)}
      </div>
    </>
  );
}

/** Grey lines as a placeholder. It says that it is loading only if that takes noticeably long. */
export function Skeleton({ what }: { what: string }) {
  return (
    <div class="skeleton" role="status">
      <span class="hidden">Loading {what}…</span>
      {[0, 1, 2, 3, 4, 5].map((line) => (
        <div key={line} class="skeleton-line" />
      ))}
    </div>
  );
}

type FailureProps = { error: unknown; what: string; retry(): Promise<void> };

/** Why loading failed, and what to do about it. */
export function Failure({ error, what, retry }: FailureProps) {
  const scope = missingScope(error);
  if (scope !== undefined) return <NoScope scope={scope} what={what} />;
  if (isGone(error)) return <Gone what={what} />;
  return (
    <div class="state bad" role="alert">
      <Icon name="alert" />
      <h2>The {what} could not be loaded</h2>
      <p>{sentenceOf(error)}</p>
      <WorkButton icon="refresh" work={retry}>
        Try again
      </WorkButton>
    </div>
  );
}

/** Shown when it does not exist (any more): trying again would not help. */
function Gone({ what }: { what: string }) {
  return (
    <Empty icon="webhooks" title={`This ${what} does not exist`}>
      It was deleted, or the address is mistyped.
    </Empty>
  );
}

/** Shown when the token may not see this page. */
export function NoScope({ scope, what }: { scope: string; what: string }) {
  const { user = '', scopes = [] } = session.value ?? {};
  return (
    <div class="state">
      <Icon name="key" />
      <h2>Your token gives no access to the {what}</h2>
      <p>
        It lacks the scope <code>{scope}</code>. Sign in with a token that also has this scope. The operator
        of the service can create one:
      </p>
      <pre>
        <code>{`plant-store token create --user ${quoted(user)} --scopes ${[...scopes, scope].join(',')}`}</code>
      </pre>
    </div>
  );
}

type EmptyProps = {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
  actions?: ComponentChildren;
};

/** Shown when there is nothing yet: what will be here, and how to begin. */
export function Empty({ icon, title, children, actions }: EmptyProps) {
  return (
    <div class="state">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {actions && <div class="actions">{actions}</div>}
    </div>
  );
}

/** Shown on a page without items of a list that has other pages. */
export function NothingHere({ icon, what }: { icon: IconName; what: string }) {
  const leave = () => {
    refine({});
    focusHeading();
  };
  const toFirst = <Button onClick={leave}>To the first page</Button>;
  return <Empty icon={icon} title={`No ${what} on this page`} actions={toFirst} />;
}
