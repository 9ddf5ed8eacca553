import { kept } from './kept.js';

/** Kept until the tab is closed. The console keeps a token in the same way, and may have one already. */
const KEPT = 'plant-store.docs.token';
const KEPT_BY_CONSOLE = 'plant-store.token';
/** A stream or a list may never end. */
const MOST_CHARACTERS = 200_000;

/** Sends what the form says, and shows the response as it arrives. */
export function offerTrial(trial) {
  const form = trial.querySelector('form');
  const button = trial.querySelector('button');
  const status = trial.querySelector('[role=status]');
  const shown = trial.querySelector('pre');
  const token = trial.querySelector('[data-in=token]');
  token.value = keptToken();
  let sending;

  // Back shows the page as it was left: the reader may have signed out of the console meanwhile.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted && token.value !== keptToken()) location.reload();
  });
  // The second click of a double click on Send is not meant for Stop, nor to send it twice.
  button.addEventListener('click', (event) => event.detail > 1 && event.preventDefault());
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (sending) return sending.abort();
    shown.hidden = true;
    kept.setItem(KEPT, token.value);
    sending = new AbortController();
    button.textContent = 'Stop';
    button.formNoValidate = true;
    status.textContent = 'Waiting for the response …';
    try {
      const { url, ...request } = requestOf(form);
      const response = await fetch(url, { ...request, signal: sending.signal, cache: 'no-store' });
      status.textContent = `${response.status} ${response.statusText}`;
      shown.hidden = false;
      await showResponse(response, shown);
    } catch (error) {
      status.textContent = sending.signal.aborted
        ? `Stopped.${form.dataset.method === 'GET' ? '' : ' The service may have done it all the same.'}`
        : `There was no response: ${error.message}`;
    }
    sending = undefined;
    button.textContent = 'Send';
    button.formNoValidate = false;
  });
}

function keptToken() {
  return kept.getItem(KEPT) ?? kept.getItem(KEPT_BY_CONSOLE) ?? '';
}

async function showResponse(response, shown) {
  const head = [...response.headers].map((pair) => pair.join(': ')).join('\n');
  shown.textContent = head;
  let text = '';
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
    text += part.value;
    shown.textContent = `${head}\n\n${text.slice(0, MOST_CHARACTERS)}`;
    if (text.length > MOST_CHARACTERS) {
      shown.textContent += `\n… These are the first ${MOST_CHARACTERS} characters.`;
      return reader.cancel();
    }
  }
  shown.textContent = `${head}\n\n${indented(text)}`;
}

function requestOf(form) {
  const { method, path } = form.dataset;
  const headers = {};
  const query = new URLSearchParams();
  let url = path;
  let body;
  for (const { name, value, dataset } of form.querySelectorAll('[data-in]')) {
    if (value === '') continue;
    if (dataset.in === 'token') headers.authorization = `Bearer ${value}`;
    if (dataset.in === 'header') headers[name] = value;
    if (dataset.in === 'path') url = url.replace(`{${name}}`, encodeURIComponent(value));
    if (dataset.in === 'query') query.set(name, value);
    if (dataset.in === 'body') {
      headers['content-type'] = 'application/json';
      body = value;
    }
  }
  const search = query.size > 0 ? `?${query}` : '';
  return { url: `${document.body.dataset.base}..${url}${search}`, method, headers, body };
}

/** JSON with its numbers as they are: an id may have more digits than a number of JavaScript. */
function indented(text) {
  try {
    const exact = (_, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);
    return JSON.stringify(JSON.parse(text, exact), null, 2);
  } catch {
    return text;
  }
}
