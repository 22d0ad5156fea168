import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { authenticate } from "../src/auth";
import type { Env } from "../src/env";
import { parseOidc, verify } from "../src/oidc";
import { bucket } from "./market";

const RS256 = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
const NOW = Date.UTC(2026, 10, 1);
const RULES = [
  { repository: "me/market", ref: "refs/heads/main", scopes: ["publish", "rollback"] },
  { repository: "me/market", ref: "refs/tags/*", scopes: ["publish"], apps: ["demo"] },
];
const CLAIMS = {
  iss: "https://issuer.example",
  aud: "https://market.example",
  repository: "me/market",
  ref: "refs/heads/main",
  nbf: NOW / 1000 - 10,
  exp: NOW / 1000 + 300,
};

let pair: CryptoKeyPair;
let other: CryptoKeyPair;
let asked: string[] = [];
let number = 0;

function base64(data: string | ArrayBuffer): string {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data);
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function sign(claims: object, header: object = {}, by = pair): Promise<string> {
  const text = [{ alg: "RS256", typ: "JWT", kid: "one", ...header }, claims]
    .map((part) => base64(JSON.stringify(part)))
    .join(".");
  return `${text}.${base64(await crypto.subtle.sign(RS256, by.privateKey, new TextEncoder().encode(text)))}`;
}

async function provider(url: string): Promise<Response> {
  asked.push(url);
  const key = await crypto.subtle.exportKey("jwk", pair.publicKey);
  return Response.json({ keys: [{ kty: "EC", kid: "two" }, { ...key, kid: "one" }] });
}

/** Return a configuration whose keys no other test has fetched. */
function config(more: object = {}) {
  number += 1;
  const fields = { audience: CLAIMS.aud, rules: RULES, issuer: CLAIMS.iss, jwks: `https://keys.example/${number}` };
  const oidc = parseOidc(JSON.stringify({ ...fields, ...more }));
  if (!oidc) throw new Error("the configuration is refused");
  return oidc;
}

async function outcome(token: string, fetcher = provider): Promise<unknown> {
  return verify(token, config(), NOW, fetcher);
}

beforeAll(async () => {
  const rsa = { ...RS256, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
  pair = (await crypto.subtle.generateKey(rsa, true, ["sign", "verify"])) as CryptoKeyPair;
  other = (await crypto.subtle.generateKey(rsa, true, ["sign", "verify"])) as CryptoKeyPair;
});

beforeEach(() => {
  asked = [];
});

describe("a token that a provider has signed", () => {
  it("may do what the rule of its repository and ref says", async () => {
    expect(await outcome(await sign(CLAIMS))).toMatchObject({
      name: "me/market@refs/heads/main",
      scopes: ["publish", "rollback"],
    });
    const tag = { ...CLAIMS, aud: ["x", CLAIMS.aud], ref: "refs/tags/v1" };
    expect(await outcome(await sign(tag))).toMatchObject({ scopes: ["publish"], apps: ["demo"] });
  });

  it.each([
    ["issuer", { iss: "https://other.example" }],
    ["audience", { aud: "https://other.example" }],
    ["audience", { aud: undefined }],
    ["expired", { exp: NOW / 1000 - 61 }],
    ["expired", { exp: "never" }],
    ["not valid yet", { nbf: NOW / 1000 + 61 }],
    ["no rule", { repository: "me/market2" }],
    ["no rule", { repository: "Me/market" }],
    ["no rule", { ref: "refs/heads/main2" }],
    ["no rule", { ref: "refs/pull/1/merge" }],
    ["names no repository", { ref: null }],
  ])("is refused for its %s: %o", async (reason, claims) => {
    expect(await outcome(await sign({ ...CLAIMS, ...claims }))).toContain(reason);
  });

  it("is refused when somebody else signed or changed it", async () => {
    expect(await outcome(await sign(CLAIMS, {}, other))).toContain("signature is wrong");
    const [head, , signature] = (await sign(CLAIMS)).split(".");
    const changed = base64(JSON.stringify({ ...CLAIMS, exp: CLAIMS.exp + 1 }));
    expect(await outcome(`${head}.${changed}.${signature}`)).toContain("signature is wrong");
    expect(await outcome(await sign(CLAIMS, { kid: "two" }))).toContain("unknown key");
    for (const alg of ["none", "HS256", "RS512"]) {
      expect(await outcome(await sign(CLAIMS, { alg }))).toContain("RS256");
    }
    expect(await outcome("a.b.c")).toContain("RS256");
    expect(await outcome(`${await sign(CLAIMS)}${"x".repeat(20_000)}`)).toContain("too long");
  });

  it("makes one look at the keys, whatever its key and however often it comes", async () => {
    const oidc = config();
    for (let n = 0; n < 3; n += 1) await verify(await sign(CLAIMS), oidc, NOW + n, provider);
    for (const kid of ["x", "y"]) await verify(await sign(CLAIMS, { kid }), oidc, NOW, provider);
    expect(asked).toEqual([oidc.jwks]);
    await verify(await sign(CLAIMS, { kid: "x" }), oidc, NOW + 61_000, provider);
    expect(asked).toHaveLength(2);
  });

  it("is refused while there are no keys, and taken while they are only out of reach", async () => {
    const down = async (): Promise<Response> => Promise.reject(new Error("down"));
    expect(await outcome(await sign(CLAIMS), down)).toContain("unknown key");
    for (const text of ["", "[]", '{"keys":[{"kty":"RSA","kid":"one","n":"!","e":"AQAB"}]}']) {
      expect(await outcome(await sign(CLAIMS), async () => new Response(text))).toContain("unknown key");
    }
    const oidc = config();
    await verify(await sign(CLAIMS), oidc, NOW, provider);
    const late = { ...CLAIMS, exp: NOW / 1000 + 10_000 };
    const hours = 2 * 60 * 60 * 1000;
    expect(await verify(await sign(late), oidc, NOW + hours, down)).toMatchObject({ scopes: RULES[0]?.scopes });
  });
});

describe("the configuration", () => {
  it.each([
    "",
    "[]",
    "{}",
    '{"audience":"a"}',
    '{"audience":"a","rules":[{"repository":"a/b"}]}',
    '{"audience":"a","rules":[],"jwks":"http://keys.example/"}',
    '{"audience":"a","rules":[],"issuer":"nowhere"}',
    '{"audience":"a","rules":[],"more":1}',
  ])("is refused as a whole when it is %s", (secret) => {
    expect(parseOidc(secret)).toBeNull();
  });

  it("stands beside tokens, or alone", async () => {
    const { jwks } = config();
    const OIDC = JSON.stringify({ audience: CLAIMS.aud, rules: RULES, issuer: CLAIMS.iss, jwks });
    const claims = { ...CLAIMS, nbf: 0, exp: Date.now() / 1000 + 60 };
    const headers = { authorization: `Bearer ${await sign(claims)}` };
    const request = new Request("https://market.example/", { headers });
    for (const env of [{ OIDC }, { OIDC, TOKENS: "[]" }] as Partial<Env>[]) {
      const found = await authenticate(request, { MARKET: bucket, ...env }, provider);
      expect(found).toMatchObject({ name: "me/market@refs/heads/main" });
    }
    const without = await authenticate(request, { MARKET: bucket, TOKENS: "[]" }, provider);
    expect((without as Response).status).toBe(401);
  });
});

describe("failed attempts", () => {
  it("are counted by the location where it can, and by network of an IPv6 address", async () => {
    const keys: string[] = [];
    const FAILURES = { limit: async ({ key }: { key: string }) => ({ success: keys.push(key) < 3 }) };
    const env = { MARKET: bucket, TOKENS: "[]", FAILURES } as unknown as Env;
    const statuses = [];
    for (let n = 0; n < 4; n += 1) {
      const headers = { authorization: "Bearer no", "cf-connecting-ip": `2001:db8:1:2:${n}::1` };
      const refused = await authenticate(new Request("https://m.example/", { headers }), env);
      statuses.push((refused as Response).status);
    }
    expect(statuses).toEqual([401, 401, 429, 429]);
    expect(new Set(keys)).toEqual(new Set(["2001:db8:1:2"]));
  });
});
