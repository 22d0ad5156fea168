/**
 * Publishing from CI without a secret: a token that an identity provider signed (GitHub Actions),
 * checked against the provider's public keys. The secret OIDC is a JSON object
 * `{"audience", "rules": [{"repository", "ref", "scopes", "apps"?}], "issuer"?, "jwks"?}`; a token
 * may do what the first rule says that has its repository and its ref.
 */

import { decode } from "./bytes";
import { type Shape, listOf, oneOf, struct, text } from "./shape";
import { SCOPES, type Scope, type Token } from "./token";

/** How keys are fetched: handed in, so that tests need no internet. */
export type Fetch = (url: string) => Promise<Response>;

interface Rule {
  readonly repository: string;
  /** A ref, or a start of refs that ends with `*`. */
  readonly ref: string;
  readonly scopes: readonly Scope[];
  readonly apps?: readonly string[];
}

export interface Oidc {
  readonly audience: string;
  readonly rules: readonly Rule[];
  readonly issuer: string;
  readonly jwks: string;
}

type Key = JsonWebKey & { readonly kid?: string };

const ISSUER = "https://token.actions.githubusercontent.com";
const CONFIG: Shape = struct(
  {
    audience: text,
    rules: listOf(
      struct(
        { repository: text, ref: text, scopes: listOf(oneOf(...SCOPES)) },
        { apps: listOf(text) },
      ),
    ),
  },
  { issuer: text, jwks: text },
);
const RS256 = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
const SKEW_S = 60;
const KEYS_MS = 60 * 60 * 1000;
/** A key that nobody knows makes one look at the provider per minute, not one per request. */
const RETRY_MS = 60 * 1000;
const TOKEN_CHARACTERS = 16 * 1024;
const KEY_CHARACTERS = 256 * 1024;

/** Return the configuration, or null for one that cannot be used. */
export function parseOidc(secret: string): Oidc | null {
  let value: unknown;
  try {
    value = JSON.parse(secret);
  } catch {
    return null;
  }
  const problems: string[] = [];
  CONFIG(value, "OIDC", problems);
  if (problems.length > 0) return null;
  const { issuer = ISSUER, ...rest } = value as Omit<Oidc, "issuer" | "jwks"> & Partial<Oidc>;
  const jwks = rest.jwks ?? `${issuer}/.well-known/jwks`;
  return isPrivate(jwks) ? { ...rest, issuer, jwks } : null;
}

/** Keys that somebody on the way can replace prove nothing; on this machine nobody is on the way. */
function isPrivate(address: string): boolean {
  try {
    const { protocol, hostname } = new URL(address);
    return protocol === "https:" || (protocol === "http:" && hostname === "127.0.0.1");
  } catch {
    return false;
  }
}

/** Say whether a bearer token has the form of one that a provider signs. */
export function isSigned(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token);
}

/** Return what a signed token may do, or why it may do nothing. */
export async function verify(
  sent: string,
  { audience, rules, issuer, jwks }: Oidc,
  now: number,
  fetcher: Fetch,
): Promise<Token | string> {
  if (sent.length > TOKEN_CHARACTERS) return "the token is too long";
  const [head = "", body = "", signature = ""] = sent.split(".");
  const header = object(head);
  const claims = object(body);
  if (header?.["alg"] !== "RS256" || typeof header["kid"] !== "string") return "it is not signed with RS256";
  const key = await keyOf(jwks, header["kid"], now, fetcher);
  if (!key) return "it is signed with an unknown key";
  const signed = new TextEncoder().encode(`${head}.${body}`);
  const proof = bytes(signature);
  if (!claims || !proof || !(await crypto.subtle.verify(RS256, key, proof, signed))) {
    return "its signature is wrong";
  }
  const { iss, aud, exp, nbf = 0, repository, ref } = claims;
  if (iss !== issuer) return "it is from another issuer";
  const audiences = Array.isArray(aud) ? aud : [aud];
  if (!audiences.includes(audience)) return `it is not for the audience ${audience}`;
  const seconds = now / 1000;
  if (typeof exp !== "number" || exp + SKEW_S <= seconds) return "it expired";
  if (typeof nbf !== "number" || nbf - SKEW_S > seconds) return "it is not valid yet";
  if (typeof repository !== "string" || typeof ref !== "string") return "it names no repository and ref";
  const rule = rules.find((item) => item.repository === repository && covers(item.ref, ref));
  if (!rule) return `no rule lets ${repository} publish from ${ref}`;
  const expires = new Date((exp + SKEW_S) * 1000).toISOString();
  return { name: `${repository}@${ref}`, scopes: rule.scopes, ...(rule.apps && { apps: rule.apps }), expires };
}

function covers(pattern: string, ref: string): boolean {
  return pattern.endsWith("*") ? ref.startsWith(pattern.slice(0, -1)) : ref === pattern;
}

let kept: { url: string; at: number; keys: ReadonlyMap<string, CryptoKey> } | null = null;

async function keyOf(url: string, kid: string, now: number, fetcher: Fetch): Promise<CryptoKey | null> {
  const known = kept?.url === url ? kept : null;
  const age = known ? now - known.at : Number.POSITIVE_INFINITY;
  const found = known?.keys.get(kid);
  if (found && age < KEYS_MS) return found;
  if (!found && age < RETRY_MS) return null;
  const keys = await fetchKeys(url, fetcher);
  // A provider that does not answer takes no key away that it has confirmed before.
  kept = { url, at: now, keys: keys ?? known?.keys ?? new Map<string, CryptoKey>() };
  return kept.keys.get(kid) ?? null;
}

async function fetchKeys(url: string, fetcher: Fetch): Promise<Map<string, CryptoKey> | null> {
  try {
    const response = await fetcher(url);
    const body = response.ok ? await response.text() : "";
    if (body.length > KEY_CHARACTERS) return null;
    const { keys } = JSON.parse(body) as { keys: readonly Key[] };
    const rsa = keys.filter((key) => key.kty === "RSA" && typeof key.kid === "string");
    const imported = rsa.map(async ({ kid, kty, n, e }): Promise<[string, CryptoKey]> => {
      const key = { kty, ...(n !== undefined && { n }), ...(e !== undefined && { e }) } as JsonWebKey;
      return [kid ?? "", await crypto.subtle.importKey("jwk", key, RS256, false, ["verify"])];
    });
    return new Map(await Promise.all(imported));
  } catch {
    return null;
  }
}

function bytes(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(plain, (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

function object(part: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(decode(bytes(part) ?? new Uint8Array()));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
