/**
 * Who may write. The secret TOKENS is a JSON list of
 * `{"name", "sha256", "scopes", "apps"?, "expires"}`: the digest of a bearer token in hex, what it
 * may do, the prefixes of the app names that it may change (none: every app), and until when.
 * Two valid entries stand side by side while a token is replaced. A token that an identity provider
 * has signed needs no entry (oidc.ts).
 */

import { encode, hex } from "./bytes";
import { refusal } from "./answers";
import type { Env } from "./env";
import { addressOf, blockedFor, noteFailure } from "./failures";
import { type Fetch, type Oidc, isSigned, parseOidc, verify } from "./oidc";
import { digest, listOf, oneOf, type Shape, text } from "./shape";
import { SCOPES, type Scope, type Token } from "./token";

export type { Scope, Token };

interface Entry extends Token {
  readonly sha256: string;
}

const FIELDS: Readonly<Record<string, Shape>> = {
  name: text,
  sha256: digest,
  scopes: listOf(oneOf(...SCOPES)),
  apps: listOf(text),
  expires: text,
};
const OPTIONAL = new Set(["apps"]);

let parsed: { secret: string; tokens: readonly Entry[] | null } | null = null;
let provider: { secret: string; oidc: Oidc | null } | null = null;

/** Return the token that a request carries, or the response that refuses it. */
export async function authenticate(
  request: Request,
  env: Env,
  fetcher: Fetch = (url) => fetch(url),
): Promise<Token | Response> {
  const tokens = configured(env.TOKENS);
  const oidc = signedBy(env.OIDC);
  if ((!tokens && env.TOKENS !== undefined) || (!tokens && !oidc)) {
    return refusal(503, {
      error: "publishing is not set up",
      message: "the secret TOKENS is missing or is not a list of tokens",
      hint: "set it with: wrangler secret put TOKENS",
    });
  }
  const now = Date.now();
  const address = addressOf(request);
  const wait = blockedFor(address, now);
  if (wait > 0) return tooMany(wait);
  const sent = /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  const found = sent === undefined ? null : await recognise(sent, tokens ?? [], oidc, now, fetcher);
  if (found && typeof found === "object" && Date.parse(found.expires) > now) return found;
  if (sent !== undefined && !(await noteFailure(address, now, env))) return tooMany(60);
  const reason = typeof found === "string" ? found : "a valid bearer token is needed";
  const message = found && typeof found === "object" ? `the token ${found.name} expired` : reason;
  return refusal(
    401,
    { error: "not authorised", message, hint: "put a valid token into OLAPPS_MARKET_TOKEN" },
    { "www-authenticate": "Bearer" },
  );
}

function tooMany(seconds: number): Response {
  return refusal(
    429,
    { error: "too many failed attempts", message: `try again in ${seconds} s` },
    { "retry-after": String(seconds) },
  );
}

/** Return whose a token is, or why it is nobody's where that can be said. */
async function recognise(
  sent: string,
  tokens: readonly Entry[],
  oidc: Oidc | null,
  now: number,
  fetcher: Fetch,
): Promise<Token | string | null> {
  if (oidc && isSigned(sent)) {
    const result = await verify(sent, oidc, now, fetcher);
    return typeof result === "string" ? `the signed token is refused: ${result}` : result;
  }
  return match(sent, tokens);
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

async function match(sent: string, tokens: readonly Entry[]): Promise<Entry | null> {
  const mine = encode(hex(await crypto.subtle.digest("SHA-256", encode(sent))));
  let found: Entry | null = null;
  // Digests have one length, and every entry is compared whichever fits.
  for (const token of tokens) {
    if (crypto.subtle.timingSafeEqual(mine, encode(token.sha256))) found = token;
  }
  return found;
}

function configured(secret: string | undefined): readonly Entry[] | null {
  if (secret === undefined) return null;
  if (parsed?.secret !== secret) parsed = { secret, tokens: parseTokens(secret) };
  return parsed.tokens;
}

function signedBy(secret: string | undefined): Oidc | null {
  if (secret === undefined) return null;
  if (provider?.secret !== secret) provider = { secret, oidc: parseOidc(secret) };
  return provider.oidc;
}

function parseTokens(secret: string): readonly Entry[] | null {
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
  return problems.length === 0 ? (value as readonly Entry[]) : null;
}
