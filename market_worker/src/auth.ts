/**
 * Who may write. The secret TOKENS is a JSON list of
 * `{"name", "sha256", "scopes", "apps"?, "expires"}`: the digest of a bearer token in hex, what it
 * may do, the prefixes of the app names that it may change (none: every app), and until when.
 * Two valid entries stand side by side while a token is replaced.
 */

import { encode, hex } from "./bytes";
import { refusal } from "./answers";
import { type Env, LIMITS } from "./env";
import { digest, listOf, oneOf, type Shape, text } from "./shape";

/**
 * `publish` moves apps up; `rollback` takes apps and versions away; `collect` removes what no kept
 * revision reaches.
 */
export const SCOPES = ["publish", "rollback", "collect"] as const;
export type Scope = (typeof SCOPES)[number];

export interface Token {
  readonly name: string;
  readonly sha256: string;
  readonly scopes: readonly Scope[];
  readonly apps?: readonly string[];
  readonly expires: string;
}

const FIELDS: Readonly<Record<string, Shape>> = {
  name: text,
  sha256: digest,
  scopes: listOf(oneOf(...SCOPES)),
  apps: listOf(text),
  expires: text,
};
const OPTIONAL = new Set(["apps"]);
const MINUTE = 60_000;
const REMEMBERED = 10_000;

let parsed: { secret: string; tokens: readonly Token[] | null } | null = null;
const failures = new Map<string, { since: number; count: number }>();

/** Return the token that a request carries, or the response that refuses it. */
export async function authenticate(request: Request, env: Env): Promise<Token | Response> {
  const tokens = configured(env.TOKENS);
  if (!tokens) {
    return refusal(503, {
      error: "publishing is not set up",
      message: "the secret TOKENS is missing or is not a list of tokens",
      hint: "set it with: wrangler secret put TOKENS",
    });
  }
  const now = Date.now();
  // In-isolate: it slows a guesser down; 256 random bits are what keeps one out.
  const client = request.headers.get("cf-connecting-ip") ?? "";
  const wait = blockedFor(client, now);
  if (wait > 0) {
    return refusal(
      429,
      { error: "too many failed attempts", message: `try again in ${wait} s` },
      { "retry-after": String(wait) },
    );
  }
  const sent = /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  const found = sent === undefined ? null : await match(sent, tokens);
  if (found && Date.parse(found.expires) > now) return found;
  if (sent !== undefined) noteFailure(client, now);
  const message = found ? `the token ${found.name} expired` : "a valid bearer token is needed";
  return refusal(
    401,
    { error: "not authorised", message, hint: "put a valid token into OLAPPS_MARKET_TOKEN" },
    { "www-authenticate": "Bearer" },
  );
}

/** Return the refusal for a token that lacks a scope, or null. */
export function lacking(token: Token, scope: Scope): Response | null {
  return token.scopes.includes(scope) ? null : forbidden(token, `may not ${scope}`);
}

/** Return the refusal for a token that may not change an app, or null. */
export function outside(token: Token, apps: readonly string[]): Response | null {
  const prefixes = token.apps;
  if (!prefixes) return null;
  const app = apps.find((name) => !prefixes.some((prefix) => name.startsWith(prefix)));
  return app === undefined ? null : forbidden(token, `may not change ${app}`);
}

export function forbidden(token: Token, what: string): Response {
  return refusal(403, {
    error: "forbidden",
    message: `the token ${token.name} ${what}`,
    hint: "ask the market's owner for a token with that permission",
  });
}

async function match(sent: string, tokens: readonly Token[]): Promise<Token | null> {
  const mine = encode(hex(await crypto.subtle.digest("SHA-256", encode(sent))));
  let found: Token | null = null;
  // Digests have one length, and every entry is compared whichever fits.
  for (const token of tokens) {
    if (crypto.subtle.timingSafeEqual(mine, encode(token.sha256))) found = token;
  }
  return found;
}

function configured(secret: string | undefined): readonly Token[] | null {
  if (secret === undefined) return null;
  if (parsed?.secret !== secret) parsed = { secret, tokens: parseTokens(secret) };
  return parsed.tokens;
}

function parseTokens(secret: string): readonly Token[] | null {
  let value: unknown;
  try {
    value = JSON.parse(secret);
  } catch {
    return null;
  }
  const problems: string[] = [];
  listOf((item, path, found) => {
    const fields = typeof item === "object" && item !== null ? Object.entries(item) : [];
    const given = new Map<string, unknown>(fields);
    for (const [name, shape] of Object.entries(FIELDS)) {
      if (given.has(name)) shape(given.get(name), `${path}.${name}`, found);
      else if (!OPTIONAL.has(name)) found.push(`${path}.${name} is missing`);
    }
    for (const name of given.keys()) if (!Object.hasOwn(FIELDS, name)) found.push(`${path}.${name}`);
    if (Number.isNaN(Date.parse(String(given.get("expires"))))) found.push(`${path}.expires`);
  })(value, "TOKENS", problems);
  return problems.length === 0 ? (value as readonly Token[]) : null;
}

/** Return for how many seconds an address has to wait. */
function blockedFor(client: string, now: number): number {
  const entry = failures.get(client);
  if (!entry || now - entry.since >= MINUTE || entry.count < LIMITS.failuresPerMinute) return 0;
  return Math.ceil((MINUTE - (now - entry.since)) / 1000);
}

function noteFailure(client: string, now: number): void {
  const entry = failures.get(client);
  if (entry && now - entry.since < MINUTE) {
    entry.count += 1;
    return;
  }
  if (failures.size >= REMEMBERED) failures.clear();
  failures.set(client, { since: now, count: 1 });
}
