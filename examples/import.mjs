// Creates every plant of plants.csv: API=http://127.0.0.1:3000 TOKEN=pst_… node examples/import.mjs
import { readFileSync } from 'node:fs';

const { API = 'http://127.0.0.1:3000', TOKEN } = process.env;
/** Requests that are under way together share a commit. */
const AT_A_TIME = 16;

const [, ...lines] = readFileSync(new URL('plants.csv', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n');
const plants = lines.map(readLine).values();
const count = { created: 0, there: 0 };
await Promise.all(Array.from({ length: AT_A_TIME }, createEach));
console.log(`${count.created} plants created${count.there > 0 ? `, ${count.there} were there already` : ''}`);

async function createEach() {
  for (const plant of plants) {
    const response = await fetch(`${API}/plants`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(plant),
    });
    const answer = await response.json();
    if (response.status === 201) count.created++;
    else if (answer.error === 40900) count.there++;
    else throw new Error(`${answer.error} ${answer.message}`);
  }
}

/** One line of CSV (RFC 4180) without line breaks in its fields. */
function readLine(line) {
  const fields = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)];
  const [id, name, tag] = fields.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain);
  return { id: Number(id), name, tag };
}
