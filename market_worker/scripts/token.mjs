/**
 * Make a token for a publisher.
 *
 *     node scripts/token.mjs NAME --days 90 [--scope publish --scope rollback] [--app PREFIX ...]
 *
 * Prints the token once, for OLAPPS_MARKET_TOKEN, and the entry for the secret TOKENS, which
 * holds only its sha256.
 */
import { createHash, randomBytes } from "node:crypto";
import { parseArgs } from "node:util";

const DAY_MS = 24 * 60 * 60 * 1000;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    days: { type: "string", default: "90" },
    scope: { type: "string", multiple: true, default: ["publish"] },
    app: { type: "string", multiple: true },
  },
});
const days = Number(values.days);
const unknown = values.scope.find((scope) => !["publish", "rollback", "collect"].includes(scope));
if (positionals.length !== 1 || !(days > 0) || unknown !== undefined) {
  console.error("usage: node scripts/token.mjs NAME --days 90 --scope publish|rollback|collect --app PREFIX");
  process.exit(2);
}

const token = `olapps_${randomBytes(32).toString("base64url")}`;
const entry = {
  name: positionals[0],
  sha256: createHash("sha256").update(token).digest("hex"),
  scopes: values.scope,
  ...(values.app && { apps: values.app }),
  expires: new Date(Date.now() + days * DAY_MS).toISOString(),
};
console.log(`OLAPPS_MARKET_TOKEN=${token}`);
console.log(JSON.stringify(entry));
