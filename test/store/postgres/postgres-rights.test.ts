import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { administer, makeStoreDatabase } from '../../../testkit/stores/postgres.ts';

/** A database with a store, and a session of another role, which may connect and owns nothing. */
async function besideStore(t: TestContext) {
  const { url, drop } = await makeStoreDatabase();
  const role = `role_${randomBytes(6).toString('hex')}`;
  await administer(url, `CREATE ROLE ${role} LOGIN PASSWORD 'plants'`);
  const { href } = Object.assign(new URL(url), { username: role, password: 'plants' });
  const session = new pg.Client({ connectionString: href });
  await session.connect();
  t.after(async () => {
    await session.end();
    await administer(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await drop();
  });
  return { url, role, session };
}

/** A temporary table whose trigger notes with whose rights it runs. */
const trap = (table: string, columns: string) => `
  CREATE TEMP TABLE IF NOT EXISTS caught (role text);
  GRANT INSERT ON caught TO PUBLIC;
  CREATE TEMP TABLE ${table} (${columns});
  CREATE FUNCTION pg_temp.${table}_catch() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO pg_temp.caught VALUES (current_user);
    RETURN NEW;
  END
  $$;
  CREATE TRIGGER catch BEFORE INSERT OR UPDATE ON pg_temp.${table}
  FOR EACH ROW EXECUTE FUNCTION pg_temp.${table}_catch()`;

const ADD = `INSERT INTO plants (owner, id, name, created_at) VALUES (1, 1, 'Fir', 0)`;
const FOLD = `SELECT fold_plants('[{"owner": 1, "id": 1, "name": "Fir", "folded": "fir"}]')`;

test('a role without rights changes nothing by the functions that have those of the owner', async (t) => {
  const { url, role, session } = await besideStore(t);
  const folded = async () => (await administer(url, 'SELECT folded FROM plants')).rows;
  await administer(url, ADD);
  await session.query(FOLD);
  assert.deepEqual(await folded(), [{ folded: null }]);
  await administer(url, `GRANT INSERT ON plants TO ${role}`);
  await session.query(FOLD);
  assert.deepEqual(await folded(), [{ folded: 'fir' }]);
  await session.query('CREATE TEMP TABLE own (owner int8, id int8)');
  await session.query(`CREATE TRIGGER added AFTER INSERT ON own REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION plants_added_without_counter()`);
  await session.query('INSERT INTO own VALUES (1, 4503599627370496)');
  const counters = await administer(url, 'SELECT last FROM ids_without_counter');
  assert.deepEqual(counters.rows, [{ last: '1' }]);
});

test('a role that may fold names cannot run anything with the rights of the owner', async (t) => {
  const { url, role, session } = await besideStore(t);
  await administer(url, `GRANT INSERT ON plants TO ${role}`);
  await session.query(trap('plants', 'owner int8, id int8, name text, folded text'));
  await session.query(`INSERT INTO pg_temp.plants VALUES (1, 1, 'Fir', NULL); TRUNCATE caught`);
  await session.query(FOLD);
  assert.deepEqual((await session.query('SELECT role FROM caught')).rows, []);
});

test('a role that may only add plants cannot run anything with the rights of the owner', async (t) => {
  const { url, role, session } = await besideStore(t);
  await administer(url, `GRANT INSERT ON plants TO ${role}`);
  await session.query(trap('assigned_ids', 'owner int8 PRIMARY KEY, last int8'));
  await session.query(trap('ids_without_counter', 'owner int8 PRIMARY KEY, last int8'));
  await session.query(ADD);
  assert.deepEqual((await session.query('SELECT role FROM caught')).rows, []);
});
