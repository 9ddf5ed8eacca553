import { pathTemplate } from '../../src/http/routes/openapi.ts';
import type { Operation } from '../../src/http/routes/operation.ts';
import { type Parameter, parametersOf, sampleOf } from '../generate/samples.ts';
import { escapeText } from './layout.ts';

/** A form that sends an operation to the service of the page; `assets/try-it.js` makes it work. */
export function tryIt(operation: Operation): string {
  const { method, body } = operation;
  const sample = body && escapeText(JSON.stringify(sampleOf(body), null, 2));
  return `<details class="try">
<summary>Try it</summary>
<form data-method="${method}" data-path="${pathTemplate(operation)}">
<label class="wide">Token <input data-in="token" type="password" autocomplete="off" required></label>
${parametersOf(operation).map(field).join('')}${sample ? `<label class="wide">Body <textarea data-in="body" rows="5" spellcheck="false">${sample}</textarea></label>` : ''}
<p class="wide"><button>Send</button> <span role="status">${method === 'GET' ? '' : 'This acts on the service that you are reading from.'}</span></p>
</form>
<pre tabindex="0" hidden></pre>
</details>
`;
}

function field({ name, place, schema }: Parameter): string {
  const attributes = `name="${name}" data-in="${place}"${place === 'path' ? ' required' : ''}`;
  const options = ['', ...(schema.enum ?? [])].map((value) => `<option>${value}</option>`);
  const input = schema.enum
    ? `<select ${attributes}>${options.join('')}</select>`
    : `<input ${attributes} autocomplete="off" spellcheck="false">`;
  return `<label>${name} ${input}</label>\n`;
}
