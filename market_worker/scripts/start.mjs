/**
 * Run a built Worker on this machine, with real R2 semantics and a folder for its state.
 *
 *     node scripts/start.mjs --bundle dist/index.js --persist DIR [--port 8787]
 *
 * The secret TOKENS and HEAD_CACHE_SECONDS come from the environment. Prints one JSON line with
 * the address when it is ready, and stops on SIGTERM, SIGINT or the end of its standard input.
 */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { Miniflare } from "miniflare";

const { values } = parseArgs({
  options: {
    bundle: { type: "string", default: "dist/index.js" },
    persist: { type: "string", default: ".wrangler/market" },
    port: { type: "string", default: "0" },
  },
});
const { TOKENS, HEAD_CACHE_SECONDS = "30" } = process.env;

const market = new Miniflare({
  name: "olapps-market",
  modules: [{ type: "ESModule", path: "index.js", contents: await readFile(values.bundle, "utf8") }],
  compatibilityDate: "2026-04-20",
  host: "127.0.0.1",
  port: Number(values.port),
  cf: false,
  r2Buckets: { MARKET: "olapps-market" },
  defaultPersistRoot: values.persist,
  bindings: { HEAD_CACHE_SECONDS, ...(TOKENS !== undefined && { TOKENS }) },
});

async function stop() {
  await market.dispose();
  process.exit(0);
}
process.on("SIGTERM", stop);
process.on("SIGINT", stop);
process.stdin.on("end", stop).resume();

const url = await market.ready;
console.log(JSON.stringify({ url: url.origin }));
