import { beforeEach, describe, expect, it } from "vitest";
import { bucket, emptyBucket, said, secret, send, sha256 } from "./market";
import { TooLarge, encode } from "../src/bytes";
import { DIFFERENCE, Impossible, assemble } from "../src/difference";
import recorded from "../../tests/worker/differences.json";

const TOKEN = "olapps_one";
const MIB = 1024 * 1024;
const OLD = "a".repeat(64);
const NEW = "b".repeat(64);
const BASE = `responses/${OLD}/any/catalog.json`;
const KEY = `responses/${NEW}/any/catalog.json`;

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

async function gzip(body: string): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

/** Put an object that shall become `made` as the steps of `body`. */
async function put(
  body: string | Uint8Array<ArrayBuffer>,
  made: string,
  headers: Record<string, string> = {},
  key = KEY,
): Promise<Response> {
  const sent = {
    authorization: `Bearer ${TOKEN}`,
    "content-type": DIFFERENCE,
    "x-base": BASE,
    "x-content-sha256": await sha256(made),
    ...headers,
  };
  const TOKENS = await secret({ [TOKEN]: {} });
  return send(`/api/publish/v1/objects/${key}`, { method: "PUT", headers: sent, body }, { TOKENS });
}

async function refused(response: Response, status: number, error: string): Promise<void> {
  const body = await said(response);
  expect([response.status, body.error]).toEqual([status, error]);
  expect(await bucket.head(KEY)).toBeNull();
}

beforeEach(async () => {
  await emptyBucket();
  await bucket.put(BASE, "abc");
});

describe("steps", () => {
  it.each([...recorded.made, ...recorded.by_hand])("make what they should: $what", (row) => {
    expect(text(assemble(encode(row.base), encode(row.difference), MIB))).toBe(row.new);
  });

  it.each(recorded.impossible)("that cannot be done are refused: %s", (steps) => {
    expect(() => assemble(encode(recorded.base), encode(steps), MIB)).toThrow(Impossible);
  });

  it("are text", () => {
    const bytes = new Uint8Array([0x5b, 0x22, 0xff, 0x22, 0x5d]);
    expect(() => assemble(encode("abc"), bytes, MIB)).toThrow(Impossible);
  });

  it("are no more than allowed, however little each does", () => {
    const steps = (count: number): Uint8Array<ArrayBuffer> => encode(`[${Array(count).fill('""')}]`);
    expect(assemble(encode("abc"), steps(10_000), MIB).length).toBe(0);
    expect(() => assemble(encode("abc"), steps(10_001), MIB)).toThrow(Impossible);
  });

  it("make no more than allowed, and nothing is copied before that is known", () => {
    const base = new Uint8Array(8 * MIB);
    const steps = `[${Array(10_000).fill(`[0,${base.length}]`)}]`;
    expect(() => assemble(base, encode(steps), 16 * MIB)).toThrow(TooLarge);
  });
});

describe("an object as a difference", () => {
  it("is kept whole, and can be sent again", async () => {
    const response = await put('[[1,2],"x"]', "bcx");
    expect(response.status).toBe(201);
    expect(response.headers.get("accept")).toContain(DIFFERENCE);
    const kept = await bucket.get(KEY);
    expect(await kept?.text()).toBe("bcx");
    expect(kept?.checksums.toJSON().sha256).toBe(await sha256("bcx"));
    expect((await put('[[1,2],"x"]', "bcx")).status).toBe(200);
    expect((await put('["other"]', "other")).status).toBe(409);
    expect(await (await bucket.get(KEY))?.text()).toBe("bcx");
  });

  it("may be a blob or a revision, which their names prove", async () => {
    for (const [folder, end] of [["blobs/sha256", ""], ["revisions", ".json"]] as const) {
      const name = async (body: string): Promise<string> => `${folder}/${await sha256(body)}${end}`;
      await bucket.put(await name("abc"), "abc");
      const base = { "x-base": await name("abc") };
      expect((await put('[[0,2],"d"]', "abd", base, await name("abd"))).status).toBe(201);
      const wrong = await put('[[0,2],"e"]', "abf", base, await name("abf"));
      expect((await said(wrong)).error).toBe("wrong digest");
      expect(await bucket.head(await name("abf"))).toBeNull();
    }
  });

  it("may come packed", async () => {
    const packed = { "content-encoding": "gzip" };
    expect((await put(await gzip('[[1,2],"x"]'), "bcx", packed)).status).toBe(201);
    expect((await put('[[1,2],"x"]', "bcx", packed)).status).toBe(400);
  });

  it("whose base is not here is to be sent whole", async () => {
    await bucket.delete(BASE);
    const response = await put('[[1,2],"x"]', "bcx");
    expect((await said(response.clone())).hint).toBe("send the object whole");
    await refused(response, 424, "base missing");
  });

  it("that makes something else is refused", async () => {
    await refused(await put('[[0,3],"x"]', "bcx"), 400, "wrong digest");
  });

  it("of a base that was damaged is refused", async () => {
    await bucket.put(BASE, "abd");
    await refused(await put('[[1,2],"x"]', "bcx"), 400, "wrong digest");
  });

  it.each([
    "",
    "head.json",
    "gc/state.json",
    `checks/${OLD}.json`,
    `revisions/${OLD}.json`,
    `blobs/sha256/${OLD}`,
    `responses/${OLD}/any/../../../head.json`,
    `responses/${OLD}/any/..%2f..%2f..%2fhead.json`,
    `/${BASE}`,
    `${BASE}/`,
    `${BASE}, ${BASE}`,
    `responses/${OLD.toUpperCase()}/any/catalog.json`,
  ])("has a base of its own kind, under its own name: %s", async (base) => {
    for (const key of ["head.json", "gc/state.json", `revisions/${OLD}.json`, `blobs/sha256/${OLD}`]) {
      await bucket.put(key, "abc");
    }
    await refused(await put('[[1,2],"x"]', "bcx", { "x-base": base }), 400, "bad request");
  });

  it.each(["", "{}", "[[0,4]]", "[[-1,2]]", "[[0,9007199254740992]]", "[[1e400,1]]"])(
    "that cannot be done is to be sent whole: %s",
    async (steps) => {
      const response = await put(steps, "abc");
      expect((await said(response.clone())).hint).toBe("send the object whole");
      await refused(response, 400, "bad request");
    },
  );

  it("is no trap for its reader", async () => {
    const deep = "[".repeat(500_000);
    await refused(await put(deep, "abc"), 400, "bad request");
    await refused(await put(deep + "]".repeat(500_000), "abc"), 400, "bad request");
    await refused(await put(`[[0,1${"0".repeat(1_000_000)}]]`, "abc"), 400, "bad request");
  });

  it("is no larger than allowed, before and after it was unpacked, nor what it makes", async () => {
    const large = JSON.stringify(["x".repeat(MIB)]);
    await refused(await put(large, "abc"), 413, "too large");
    await refused(await put(await gzip(large), "abc", { "content-encoding": "gzip" }), 413, "too large");
    await bucket.put(BASE, "0".repeat(MIB));
    const copies = (count: number): string => `[${Array(count).fill(`[0,${MIB}]`)}]`;
    await refused(await put(copies(17), "abc"), 413, "too large");
    await refused(await put(copies(10_000), "abc"), 413, "too large");
    expect((await put(copies(16), "0".repeat(16 * MIB))).status).toBe(201);
  });

  it("needs a token", async () => {
    await refused(await put("[[0,3]]", "abc", { authorization: "Bearer no" }), 401, "not authorised");
  });

  it("is one by its type only: a whole body may name a base", async () => {
    const response = await put("whole", "whole", { "content-type": "application/octet-stream" });
    expect(response.status).toBe(201);
    expect(await (await bucket.get(KEY))?.text()).toBe("whole");
  });
});
