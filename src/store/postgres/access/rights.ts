/** The privileges that the service's role needs on each table. */
export const RIGHTS: Readonly<Record<string, string>> = {
  users: 'SELECT INSERT UPDATE DELETE',
  tokens: 'SELECT INSERT UPDATE DELETE',
  shares: 'SELECT INSERT DELETE',
  plants: 'SELECT INSERT DELETE',
  assigned_ids: 'SELECT INSERT UPDATE DELETE',
  ids_without_counter: 'SELECT DELETE',
  plant_counts: 'SELECT INSERT UPDATE DELETE',
  events: 'SELECT INSERT DELETE',
  removed_events: 'SELECT INSERT UPDATE DELETE',
  webhooks: 'SELECT INSERT UPDATE DELETE',
  webhook_secrets: 'SELECT INSERT UPDATE DELETE',
  deliveries: 'SELECT INSERT UPDATE DELETE',
  attempts: 'SELECT INSERT UPDATE DELETE',
  replays: 'SELECT INSERT UPDATE DELETE',
  withdrawals: 'SELECT INSERT UPDATE DELETE',
  idempotency: 'SELECT INSERT DELETE',
  meta: 'SELECT UPDATE',
  cursor_key: 'SELECT',
  replicas: 'SELECT INSERT UPDATE DELETE',
  lanes: 'SELECT INSERT UPDATE',
};

const each = Object.entries(RIGHTS).flatMap(([table, rights]) =>
  rights.split(' ').map((right) => `('${table}', '${right}')`),
);

/** The missing privileges as text, null without any. A table that is gone or hidden counts as missing. */
export const LACKING = `(
      SELECT string_agg(r.name || ' on ' || r.of, ', ')
      FROM (VALUES ${each.join(', ')}) AS r (of, name)
      WHERE has_table_privilege(to_regclass(r.of), r.name) IS NOT TRUE
    )`;
