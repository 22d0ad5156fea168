/**
 * Put the market of a conformance record into the state folder of a stopped Worker.
 *
 *     node test/seed.mjs RECORD.json DIR
 */
import { readFile } from "node:fs/promises";
import { Miniflare } from "miniflare";

const [record, persist] = process.argv.slice(2);
const { head, objects } = JSON.parse(await readFile(record, "utf8"));
const market = new Miniflare({
  modules: true,
  script: "export default {}",
  cf: false,
  r2Buckets: { MARKET: "olapps-market" },
  defaultPersistRoot: persist,
});
const bucket = await market.getR2Bucket("MARKET");
const bytes = (data) => (typeof data === "string" ? data : Uint8Array.from(Buffer.from(data.base64, "base64")));
const all = Object.entries({ ...objects, "head.json": head });
const AT_ONCE = 64;
for (let start = 0; start < all.length; start += AT_ONCE) {
  const some = all.slice(start, start + AT_ONCE);
  await Promise.all(some.map(([key, data]) => bucket.put(key, bytes(data))));
}
await market.dispose();
