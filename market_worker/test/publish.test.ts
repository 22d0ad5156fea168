import { beforeEach, describe, expect, it } from "vitest";
import { bucket, emptyBucket, said, secret, send, sha256 } from "./market";
import type { Entry } from "./market";

const API = "/api/publish/v1";
const BLOB = "an archive";
const TOKEN = "olapps_one";

async function call(
  method: string,
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  tokens: Readonly<Record<string, Entry>> = { [TOKEN]: {} },
): Promise<Response> {
  const authorization = `Bearer ${TOKEN}`;
  const init = { method, headers: { authorization, ...headers } };
  const TOKENS = await secret(tokens);
  return send(`${API}${path}`, body === undefined ? init : { ...init, body }, { TOKENS });
}

async function blobPath(body: string): Promise<string> {
  return `/objects/blobs/sha256/${await sha256(body)}`;
}

const PACKED = { "content-encoding": "gzip" };

async function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

beforeEach(emptyBucket);

describe("objects", () => {
  it("are created once and kept as they are", async () => {
    const path = await blobPath(BLOB);
    expect((await call("PUT", path, BLOB)).status).toBe(201);
    const again = await call("PUT", path, BLOB);
    expect(again.status).toBe(200);
    expect(await again.json()).toMatchObject({ created: false });
    const read = await call("GET", path);
    expect(await sha256(new Uint8Array(await read.arrayBuffer()))).toBe(await sha256(BLOB));
    expect(read.headers.get("content-length")).toBe(String(BLOB.length));
  });

  it("whose bytes are not those of their name are refused", async () => {
    const response = await call("PUT", await blobPath(BLOB), "other bytes");
    expect(response.status).toBe(400);
    expect((await said(response)).error).toBe("wrong digest");
    expect((await bucket.list()).objects).toEqual([]);
  });

  it("without a digest in the name take it from a header, and never change", async () => {
    const path = `/objects/responses/${"a".repeat(64)}/any/catalog.json`;
    expect((await call("PUT", path, "{}")).status).toBe(400);
    const digest = { "x-content-sha256": await sha256("{}") };
    expect((await call("PUT", path, "{}", digest)).status).toBe(201);
    expect((await call("PUT", path, "{}", digest)).status).toBe(200);
    const other = await call("PUT", path, "[]", { "x-content-sha256": await sha256("[]") });
    expect(other.status).toBe(409);
    expect((await said(other)).hint).toContain("new version");
    expect(await (await call("GET", path)).json()).toEqual({});
  });

  it("may come packed, and are kept and given as they were", async () => {
    const body = "{}".repeat(5000);
    const path = await blobPath(body);
    const response = await call("PUT", path, await gzip(body), PACKED);
    expect(response.status).toBe(201);
    expect(response.headers.get("accept-encoding")).toBe("gzip");
    const read = await call("GET", path);
    expect(await sha256(new Uint8Array(await read.arrayBuffer()))).toBe(await sha256(body));
    expect(read.headers.get("content-encoding")).toBeNull();
    expect((await call("PUT", path, body)).status).toBe(200);
  });

  it("are not sent to who has them, and are to who has others", async () => {
    const path = await blobPath(BLOB);
    await call("PUT", path, BLOB);
    const etag = `"${await sha256(BLOB)}"`;
    for (const method of ["GET", "HEAD"]) {
      const same = await call(method, path, undefined, { "if-none-match": etag });
      expect([same.status, same.headers.get("etag"), await same.text()]).toEqual([304, etag, ""]);
      for (const other of [`"${await sha256("")}"`, "*", '""', etag.slice(1, -1)]) {
        const read = await call(method, path, undefined, { "if-none-match": other });
        expect([read.status, read.headers.get("etag")]).toEqual([200, etag]);
        await read.arrayBuffer();
      }
    }
    // Somebody else's hand may have put it, without the digest: then it is read.
    const bare = `responses/${"a".repeat(64)}/files.json`;
    await bucket.put(bare, BLOB);
    const read = await call("GET", `/objects/${bare}`, undefined, { "if-none-match": etag });
    expect([read.status, (await read.arrayBuffer()).byteLength]).toEqual([200, BLOB.length]);
  });

  it("that are not what they are packed as are refused", async () => {
    const whole = await gzip(BLOB);
    for (const body of [BLOB, whole.slice(0, -6), new Uint8Array([...whole, 1, 2, 3])]) {
      const response = await call("PUT", await blobPath(BLOB), body, PACKED);
      expect(response.status).toBe(400);
      expect((await said(response)).error).toBe("wrong digest");
    }
    expect((await call("PUT", await blobPath(BLOB), await gzip("other"), PACKED)).status).toBe(400);
    expect((await bucket.list()).objects).toEqual([]);
  });

  it("are no larger than allowed after they were unpacked", async () => {
    const body = "0".repeat(9 * 1024 * 1024);
    const packed = await gzip(body);
    expect(packed.length).toBeLessThan(20_000);
    expect((await call("PUT", await blobPath(body), packed, PACKED)).status).toBe(413);
  });

  it("of twenty writers at once exactly one creates", async () => {
    const path = await blobPath(BLOB);
    const all = await Promise.all(Array.from({ length: 20 }, () => call("PUT", path, BLOB)));
    expect(all.map((response) => response.status).sort()).toEqual([...Array(19).fill(200), 201]);
  });

  it("larger than the limit are refused", async () => {
    const large = new Uint8Array(8 * 1024 * 1024 + 1);
    const response = await call("PUT", `/objects/blobs/sha256/${await sha256(large)}`, large);
    expect(response.status).toBe(413);
  });

  it.each([
    "/objects/head.json",
    "/objects/blobs/sha256/abc",
    "/objects/blobs/sha256/../../head.json",
    "/objects/responses/x/any/hash.json",
    `/objects/responses/${"a".repeat(64)}/any/..%2f..%2fhead.json`,
    `/objects/revisions/${"A".repeat(64)}.json`,
    "/objects/tokens",
  ])("have no other names: %s", async (path) => {
    const response = await call("PUT", path, "{}", { "x-content-sha256": await sha256("{}") });
    expect([400, 404]).toContain(response.status);
    expect((await bucket.list()).objects).toEqual([]);
  });
});

describe("the head", () => {
  it("moves only under a condition", async () => {
    const response = await call("PUT", "/head", "{}");
    expect(response.status).toBe(428);
    expect((await said(response)).hint).toContain("read the head");
  });

  it.each([{ "if-match": '"x"' }, { "if-none-match": "*" }])("is told apart: %o", async (condition) => {
    const first = condition["if-match"] === undefined;
    if (first) await bucket.put("head.json", JSON.stringify({ revision: "a".repeat(64) }));
    const response = await call("PUT", "/head", "{}", condition as Record<string, string>);
    expect(response.status).toBe(412);
    expect((await said(response)).hint).toContain("plan on it");
  });

  it.each(["{}", "[]", "null", "{", '{"revision":"../head"}', `{"revision":"${"a".repeat(64)}"}`])(
    "names a revision that exists: %s",
    async (body) => {
      const response = await call("PUT", "/head", body, { "if-none-match": "*" });
      expect([400, 422]).toContain(response.status);
      expect(await bucket.head("head.json")).toBeNull();
    },
  );

  it("of a market that has none is a 404", async () => {
    expect((await call("GET", "/head")).status).toBe(404);
  });
});

describe("who may write", () => {
  async function attempt(
    headers: Record<string, string>,
    TOKENS: string | undefined,
    ip: string,
  ): Promise<Response> {
    const init = { method: "PUT", body: BLOB, headers: { "cf-connecting-ip": ip, ...headers } };
    return send(`${API}${await blobPath(BLOB)}`, init, TOKENS === undefined ? {} : { TOKENS });
  }

  it("is everybody with one of the valid tokens", async () => {
    const TOKENS = await secret({ old: {}, new: {} });
    for (const token of ["old", "new"]) {
      const response = await attempt({ authorization: `Bearer ${token}` }, TOKENS, "192.0.2.1");
      expect([200, 201]).toContain(response.status);
    }
  });

  it.each([
    ["no token", {}],
    ["another token", { authorization: "Bearer nonsense" }],
    ["a token of another length", { authorization: `Bearer ${"x".repeat(5000)}` }],
    ["another scheme", { authorization: "Basic b2xkOg==" }],
    ["an empty one", { authorization: "Bearer " }],
    ["an expired one", { authorization: "Bearer late" }],
  ])("is nobody with %s", async (_, headers) => {
    const TOKENS = await secret({ old: {}, late: { expires: "2026-01-01T00:00:00Z" } });
    const response = await attempt(headers as Record<string, string>, TOKENS, "192.0.2.2");
    expect(response.status).toBe(401);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    expect(await bucket.head(`blobs/sha256/${await sha256(BLOB)}`)).toBeNull();
  });

  it.each([undefined, "", "{", "{}", '[{"name":"x"}]', '[{"name":"x","sha256":"y"}]'])(
    "is nobody while the secret is %s",
    async (TOKENS) => {
      const response = await attempt({ authorization: "Bearer x" }, TOKENS, "192.0.2.3");
      expect(response.status).toBe(503);
      expect((await said(response)).hint).toContain("wrangler secret put TOKENS");
    },
  );

  it("is nobody for a while after many failures from one address", async () => {
    const TOKENS = await secret({ good: {} });
    const wrong = { authorization: "Bearer wrong" };
    for (let n = 0; n < 10; n += 1) await attempt(wrong, TOKENS, "192.0.2.4");
    const blocked = await attempt({ authorization: "Bearer good" }, TOKENS, "192.0.2.4");
    expect(blocked.status).toBe(429);
    expect(Number(blocked.headers.get("retry-after"))).toBeGreaterThan(0);
    const other = await attempt({ authorization: "Bearer good" }, TOKENS, "192.0.2.5");
    expect(other.status).toBe(201);
  });

  it("is nobody whose token only collects", async () => {
    const tokens = { [TOKEN]: { scopes: ["collect"] } };
    const refused = await call("PUT", await blobPath(BLOB), BLOB, {}, tokens);
    expect(refused.status).toBe(403);
    expect((await said(refused)).message).toContain("may not publish");
    for (const scope of ["publish", "rollback"]) {
      const allowed = { [TOKEN]: { scopes: [scope] } };
      expect((await call("PUT", await blobPath(scope), scope, {}, allowed)).status).toBe(201);
    }
  });

  it("is asked before a list of keys is given", async () => {
    const TOKENS = await secret({ good: {} });
    expect((await send(`${API}/objects?prefix=revisions`, {}, { TOKENS })).status).toBe(401);
    expect((await call("GET", "/objects?prefix=revisions")).status).toBe(200);
    expect((await call("GET", "/objects?prefix=")).status).toBe(400);
  });

  it("is no script of another site", async () => {
    const response = await send(`${API}/head`, { method: "OPTIONS" });
    expect(response.status).toBe(405);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });
});

it("an operation that does not exist is a 404 in JSON", async () => {
  for (const [method, path] of [["DELETE", "/head"], ["POST", "/objects"], ["GET", "/x"]] as const) {
    const response = await call(method, path);
    expect(response.status).toBe(404);
    expect(response.headers.get("content-type")).toBe("application/json");
  }
});
