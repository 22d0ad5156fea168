/**
 * Send one request over and over for a while.
 *
 *     node bench/load.mjs '{"url": "...", "method": "GET", "body": "...", "seconds": 2, "at_once": 8}'
 *
 * Prints one JSON line: how many answers with status 200 came, and in how many seconds.
 */
import { Agent, request } from "node:http";

const { url, method, body, seconds, at_once } = JSON.parse(process.argv[2]);
const agent = new Agent({ keepAlive: true, maxSockets: at_once });

function once() {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method }, (response) => {
      response.on("end", () => resolve(response.statusCode)).on("error", reject).resume();
    });
    sent.on("error", reject).end(body);
  });
}

let good = 0;
const began = performance.now();
const end = began + seconds * 1000;
async function client() {
  while (performance.now() < end) if ((await once()) === 200) good += 1;
}
await Promise.all(Array.from({ length: at_once }, client));
console.log(JSON.stringify({ good, seconds: (performance.now() - began) / 1000 }));
agent.destroy();
