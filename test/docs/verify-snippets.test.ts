import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { newKeyPair, newSecret, sign } from '../../src/webhooks/sending/signature.ts';
import vectors from '../../testkit/receivers/standard-webhooks.json' with { type: 'json' };

/** Runs the code of the section "Verify" of the page for receivers, unchanged. */

const ROOT = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(ROOT, 'docs', 'how-to', 'receive-webhooks.md'), 'utf8');
const section = /^## Verify\n(.*?)^## /ms.exec(page)?.[1] ?? '';

const { id, timestamp, body, symmetric, asymmetric } = vectors;
const SIGNATURES = `${symmetric.signature} ${asymmetric.signature}`;
const KEYS = { SECRET: symmetric.secret, PUBLIC_KEY: asymmetric.publicKey };

const noPython = lacks('Python 3.9 or newer', 'python3', ['-c', 'str.removeprefix']);
const noPackage =
  noPython || lacks("Python's package cryptography", 'python3', ['-c', 'import cryptography']);
const noOpenssl = lacks('OpenSSL 3', 'openssl', ['version'], /^OpenSSL [3-9]/);

test('the section has exactly the snippets that are run here', () => {
  const counts = ['js', 'python', 'bash'].map((language) => blocks(language).length);
  assert.deepEqual(counts, [2, 2, 3]);
});

test('the snippet with plant-store/client answers 204 to a genuine request, and 401 to another', () => {
  const [snippet = ''] = blocks('js');
  const { headers, given, secret, publicKey } = signedNow('{"id":7,"name":"Alder"}');
  const program = `${snippet}
    const headers = ${JSON.stringify(headers)};
    console.log(await receive(headers, ${JSON.stringify(given)}), await receive(headers, '{}'));`;
  for (const env of [{ SECRET: secret }, { PUBLIC_KEY: publicKey }]) {
    const { status, output } = javascript(program, env);
    assert.equal(output, `Event ${headers['webhook-id']}: plant 7 is called Alder.\n204 401\n`);
    assert.equal(status, 0);
  }
});

test('the snippet with the public library throws unless the request is genuine', () => {
  const [, snippet = ''] = blocks('js');
  const { headers, given, secret } = signedNow('{"id":7,"name":"Alder"}');
  const run = (rawBody: string) => {
    const values = Object.entries({ secret, headers, rawBody });
    const constants = values.map(([name, value]) => `const ${name} = ${JSON.stringify(value)};\n`);
    return javascript(constants.join('') + snippet, {}).status;
  };
  assert.equal(run(given), 0);
  assert.equal(run(`${given} `), 1);
});

test('the table names every reason for refusal', () => {
  const source = readFileSync(join(ROOT, 'packages', 'client', 'src', 'verify-webhook.ts'), 'utf8');
  const [, union = ''] = /type WebhookRefusal =(.*?);/s.exec(source) ?? [];
  const reasons = [...union.matchAll(/'([a-z-]+)'/g)].map(([, reason]) => reason);
  assert.ok(reasons.length > 0);
  assert.deepEqual(
    reasons.filter((reason) => !section.includes(`\`${reason}\``)),
    [],
  );
});

for (const [index, version, skip] of [
  [0, 'v1', noPython],
  [1, 'v1a', noPackage],
] as const) {
  test(`the Python for ${version} accepts the vector of Standard Webhooks and refuses changes`, {
    skip,
  }, () => {
    const program = blocks('python')[index] ?? '';
    const run = (args: readonly string[], input: string, now: number, keys: object = KEYS): number | null => {
      const env = { ...environment(), ...keys, NOW: String(now) };
      const { status, stderr } = spawnSync('python3', ['-c', program, ...args], { input, env });
      assert.equal(stderr.toString(), status === 0 ? '' : 'refused\n');
      return status;
    };
    const genuine = [id, String(timestamp), SIGNATURES];
    const other = `v1,AAAA v1a,AAAA v1a,A v9 ${asymmetric.signature.replace('h', 'i')}`;
    assert.equal(run(genuine, body, timestamp), 0);
    assert.equal(run([id, String(timestamp), `${other} ${SIGNATURES}`], body, timestamp), 0);
    assert.equal(run(genuine, body, timestamp + 300), 0);
    assert.equal(run(genuine, body, timestamp + 301), 1);
    assert.equal(run(genuine, body, timestamp - 301), 1);
    assert.equal(run(genuine, `${body} `, timestamp), 1);
    assert.equal(run([`${id}x`, String(timestamp), SIGNATURES], body, timestamp), 1);
    assert.equal(run([id, String(timestamp + 1), SIGNATURES], body, timestamp), 1);
    // Unicode digits that Python's int() rejects, or numbers that the service never writes.
    for (const time of ['now', '', '²', `${timestamp}²`, '١٧', `-${timestamp}`]) {
      assert.equal(run([id, time, SIGNATURES], body, timestamp), 1);
    }
    assert.equal(run([id, String(timestamp), other], body, timestamp), 1);
    const otherKeys = { SECRET: newSecret(randomBytes), PUBLIC_KEY: newKeyPair(randomBytes).publicKey };
    assert.equal(run(genuine, body, timestamp, otherKeys), 1);
  });
}

for (const [index, version, genuine, refused] of [
  [1, 'v1', /^genuine\n$/, /^refused\n$/],
  [2, 'v1a', /^Signature Verified Successfully\n$/, /^Signature Verification Failure\n/],
] as const) {
  test(`openssl accepts the vector's ${version} and refuses changes`, { skip: noOpenssl }, () => {
    const [prepare = '', ...others] = blocks('bash');
    const program = prepare + (others[index - 1] ?? '');
    const run = (text: string, keys: object = KEYS): string => {
      const folder = mkdtempSync(join(tmpdir(), 'plant-store-verify-'));
      try {
        writeFileSync(join(folder, 'body.json'), text);
        const env = { ...environment(), ...keys, ID: id, TIMESTAMP: String(timestamp), SIGNATURES };
        return spawnSync('bash', ['-c', program], { cwd: folder, env }).stdout.toString();
      } finally {
        rmSync(folder, { recursive: true });
      }
    };
    assert.match(run(body), genuine);
    assert.match(run(`${body}\n`), refused);
    const otherKeys = { SECRET: newSecret(randomBytes), PUBLIC_KEY: newKeyPair(randomBytes).publicKey };
    assert.match(run(body, otherKeys), refused);
  });
}

function blocks(language: string): string[] {
  const fenced = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms');
  return [...section.matchAll(fenced)].map(([, text = '']) => text);
}

/** False when the machine has it, otherwise why to skip a test that needs it. */
function lacks(what: string, program: string, args: string[], expected = /(?:)/): string | false {
  const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' });
  return status === 0 && expected.test(stdout) ? false : `${what} is not on this machine`;
}

/** A request with the service's signature. */
function signedNow(given: string) {
  const secret = newSecret(randomBytes);
  const { privateKey, publicKey } = newKeyPair(randomBytes);
  const seconds = Math.floor(Date.now() / 1000);
  const signature = sign({
    id: 'evt_1',
    timestamp: seconds,
    body: given,
    keys: { secrets: [secret], privateKey },
  });
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(seconds),
    'webhook-signature': signature,
  };
  return { headers, given, secret, publicKey };
}

/** Runs a module as if it were in the project's folder. */
function javascript(program: string, env: Record<string, string>): { status: number | null; output: string } {
  const run = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: ROOT,
    env: { ...environment(), ...env },
    encoding: 'utf8',
  });
  return { status: run.status, output: run.stdout };
}

/** Only where programs and their packages are, from this process's environment. */
function environment(): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME };
}
