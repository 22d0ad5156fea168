/**
 * Run a built Worker on this machine, with real R2 semantics and a folder for its state.
 *
 *     node scripts/start.mjs --bundle dist/index.js --persist DIR [--port 8787] [--around FILE]
 *
 * The secrets TOKENS and OIDC and HEAD_CACHE_SECONDS come from the environment. FILE is a module
 * that imports the bundle as "./index.js" and takes the requests in its place. Prints one JSON line
 * with the address when it is ready, and stops on SIGTERM, SIGINT or the end of its standard input.
 */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { Miniflare } from "miniflare";

const { values } = parseArgs({
  options: {
    bundle: { type: "string", default: "dist/index.js" },
    persist: { type: "string", default: ".wrangler/market" },
    port: { type: "string", default: "0" },
    around: { type: "string" },
  },
});
const { TOKENS, OIDC, HEAD_CACHE_SECONDS = "30" } = process.env;

async function module(path, file) {
  return { type: "ESModule", path, contents: await readFile(file, "utf8") };
}

const market = new Miniflare({
  name: "olapps-market",
  modules: [
    ...(values.around === undefined ? [] : [await module("around.js", values.around)]),
    await module("index.js", values.bundle),
  ],
  compatibilityDate: "2026-04-20",
  host: "127.0.0.1",
  port: Number(values.port),
  cf: false,
  r2Buckets: { MARKET: "olapps-market" },
  defaultPersistRoot: values.persist,
  bindings: { HEAD_CACHE_SECONDS, ...(TOKENS && { TOKENS }), ...(OIDC && { OIDC }) },
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
