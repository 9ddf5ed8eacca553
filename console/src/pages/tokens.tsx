import { useSignal } from '@preact/signals';
import type { Token } from '../../../packages/client/src/client.ts';
import { AddButton, IconButton } from '../components/button.tsx';
import { Confirm } from '../components/confirm.tsx';
import { Page } from '../components/page.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { codeOf } from '../failure.ts';
import { isBlank } from '../format.ts';
import { useResource } from '../resource.ts';
import { Rotation } from '../secrets/rotation.tsx';
import { refusalFor, store } from '../session.ts';
import { toast } from '../toasts.ts';
import { ShowToken, withToken } from '../tokens/new-token.tsx';
import { CreateToken } from '../tokens/token-form.tsx';
import '../styles/tokens.css';

type Task = { what: 'create' } | { what: 'rotate' | 'revoke'; token: Token };

/** What the user's programs sign in with. */
export function Tokens() {
  const task = useSignal<Task | undefined>(undefined);
  const tokens = useResource('tokens', (signal) => store().tokens.list({ signal }));
  const refusal = refusalFor('tokens:write');
  const create = (
    <AddButton label="Create a token" refusal={refusal} onClick={() => (task.value = { what: 'create' })} />
  );
  const props = { onChanged: tokens.reload, onClose: () => (task.value = undefined) };
  const isEmpty = tokens.state.value.value?.length === 0;
  return (
    <Page title="Tokens" lead="Your programs use them to act for you." actions={!isEmpty && create}>
      <Loaded resource={tokens} what="tokens">
        {(list) =>
          list.length > 0 ? (
            <Table
              caption="Tokens"
              columns={columns(refusal, (what, token) => (task.value = { what, token }))}
              rows={list}
              keyOf={({ id }) => id}
            />
          ) : (
            <Empty icon="key" title="No tokens yet" actions={create}>
              Give each program its own token, with only the scopes it needs. You can then revoke one without
              stopping the others.
            </Empty>
          )
        }
      </Loaded>
      {task.value?.what === 'create' && (
        <CreateToken onCreated={() => void tokens.reload()} onClose={props.onClose} />
      )}
      {task.value?.what === 'rotate' && <RotateToken token={task.value.token} {...props} />}
      {task.value?.what === 'revoke' && <RevokeToken token={task.value.token} {...props} />}
    </Page>
  );
}

function nameOf({ id, label }: Token): string {
  return isBlank(label) ? id : label;
}

function columns(
  refusal: string | undefined,
  begin: (what: 'rotate' | 'revoke', token: Token) => void,
): Column<Token>[] {
  return [
    {
      title: 'Token',
      kind: 'name',
      cell: (token) => (
        <div>
          <span class="clamped">{isBlank(token.label) ? 'No label' : token.label}</span>
          <span class="under token-id">{token.id}</span>
        </div>
      ),
    },
    {
      title: 'Scopes',
      cell: ({ scopes }) => (
        <ul class="scope-list">
          {scopes.map((scope) => (
            <li key={scope}>{scope}</li>
          ))}
        </ul>
      ),
    },
    { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Expires', cell: ({ expiresAt }) => (expiresAt ? <Time at={expiresAt} /> : 'Never') },
    { title: 'Last used', cell: ({ lastUsedOn }) => <span class="day">{lastUsedOn ?? 'Never'}</span> },
    {
      title: 'Actions',
      kind: 'actions',
      cell: (token) => (
        <>
          <IconButton
            icon="refresh"
            label={`Rotate ${nameOf(token)}`}
            refusal={refusal}
            onClick={() => begin('rotate', token)}
          />
          <IconButton
            icon="trash"
            label={`Revoke ${nameOf(token)}`}
            refusal={refusal}
            onClick={() => begin('revoke', token)}
          />
        </>
      ),
    },
  ];
}

type TaskProps = { token: Token; onChanged(): Promise<void>; onClose(): void };

function RotateToken({ token, onChanged, onClose }: TaskProps) {
  return (
    <Rotation
      title={`Rotate ${nameOf(token)}?`}
      rotate={async (options) => {
        try {
          return withToken(await store().tokens.rotate(token.id, options));
        } finally {
          void onChanged();
        }
      }}
      shown={(made) => <ShowToken made={made} title="The new token" onClose={onClose} />}
      onClose={onClose}
    >
      <p>
        The new token has the same label and scopes. While both work, you have time to replace the old one
        where it is used.
      </p>
    </Rotation>
  );
}

function RevokeToken({ token, onChanged, onClose }: TaskProps) {
  async function act(): Promise<void> {
    try {
      await store().tokens.revoke(token.id);
    } catch (error) {
      if (codeOf(error) !== 40404) throw error;
    }
    await onChanged();
    // Not before: nothing below an open dialog is read out.
    toast('The token was revoked.');
  }
  return (
    <Confirm title={`Revoke ${nameOf(token)}?`} verb="Revoke" act={act} onClose={onClose}>
      <p>Programs that use it are refused from now on. This cannot be undone.</p>
      <p>If it is the one that you signed in with, you are signed out.</p>
    </Confirm>
  );
}
