import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const key = Buffer.from(process.env.SECRET.slice('whsec_'.length), 'base64');
const same = (a) => (b) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b, 'latin1'));

createServer((request, response) => {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given = '' } = request.headers;
  let body = '';
  request.setEncoding('utf8').on('data', (text) => (body += text));
  request.on('end', () => {
    const hmac = createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64');
    const genuine = Math.abs(Date.now() / 1000 - time) <= 300 && given.split(' ').some(same(`v1,${hmac}`));
    response.writeHead(genuine ? 204 : 401).end();
    console.log(genuine ? `verified ${body}` : 'refused');
  });
}).listen(4000, '127.0.0.1');
