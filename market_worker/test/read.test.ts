import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Asked, bucket, emptyBucket, fillBucket, record, said, send, sha256, unpack } from "./market";

const HEADERS = [
  "content-type",
  "content-length",
  "content-disposition",
  "cache-control",
  "etag",
  "allow",
  "access-control-allow-origin",
  "access-control-allow-methods",
  "access-control-allow-headers",
  "x-content-type-options",
];

async function ask(asked: Asked): Promise<Response> {
  const headers: Record<string, string> = asked.if_none_match
    ? { "if-none-match": asked.if_none_match }
    : {};
  const body = asked.body === undefined ? {} : { body: asked.body };
  return send(asked.target, { method: asked.method, headers, ...body });
}

async function faults(requests: readonly Asked[]): Promise<string[]> {
  const found: string[] = [];
  for (const asked of requests) {
    const { answer } = asked;
    const response = await ask(asked);
    const name = `${asked.method} ${asked.target} ${(asked.body ?? "").slice(0, 80)}`;
    if (response.status !== answer.status) found.push(`${name}: ${response.status}`);
    for (const header of HEADERS) {
      const [is, wanted] = [response.headers.get(header), answer.headers[header] ?? null];
      if (is !== wanted) found.push(`${name}: ${header} is ${is}, expected ${wanted}`);
    }
    const body = new Uint8Array(await response.arrayBuffer());
    const whole = asked.method !== "HEAD" && answer.status !== 304;
    if (whole && (await sha256(body)) !== answer.sha256) found.push(`${name}: other body`);
  }
  return found;
}

describe("the recorded answers", () => {
  it("are given by a market with apps", async () => {
    await fillBucket();
    expect(await faults(record.requests)).toEqual([]);
  });

  it("are given by an empty market", async () => {
    await emptyBucket();
    expect(await faults(record.empty)).toEqual([]);
  });
});

const HASH = "/api/v1/appstore/hash?version=1.12.6";
const DETAILS = "/api/v1/applications/info";
const CHART = "/api/v1/applications/demoalpha/chart?version=1.0.3";

function details(): Promise<Response> {
  const body = JSON.stringify({ app_ids: ["4d6544d7"], version: "1.12.6" });
  return send(DETAILS, { method: "POST", body }, { HEAD_CACHE_SECONDS: "30" });
}

describe("a head that is cached", () => {
  const cached = { HEAD_CACHE_SECONDS: "30" };

  beforeEach(fillBucket);

  /** Let another isolate publish a revision in which one answer differs; this one is not told. */
  async function publishElsewhere(path: string, answer: string): Promise<void> {
    const head = JSON.parse(record.head) as { answers: Record<string, string> };
    const revision = "a".repeat(64);
    await bucket.put(`responses/${revision}/${path}`, answer);
    const answers = { ...head.answers, [path]: await sha256(answer) };
    await bucket.put("head.json", JSON.stringify({ ...head, revision, answers }));
  }

  it("serves lists, and never details of an older revision than a list", async () => {
    const before = await (await send(HASH)).text();
    await publishElsewhere("olares-1.12.6/details.json", "{}");
    expect(await (await send(HASH, {}, cached)).text()).toBe(before);
    expect(await (await details()).json()).toMatchObject({ apps: {}, not_found: ["4d6544d7"] });
  });

  it("does not turn a new archive into a 404", async () => {
    await publishElsewhere("files.json", JSON.stringify({ ledgers: {}, icons: {} }));
    expect((await send(CHART)).status).toBe(404);
    await bucket.put("head.json", record.head);
    expect((await send(CHART, {}, cached)).status).toBe(200);
  });

  it("is not kept longer than the limit, whatever the setting says", async () => {
    const { headCacheMs } = await import("../src/env");
    expect(headCacheMs({ MARKET: bucket, HEAD_CACHE_SECONDS: "3600" })).toBe(30_000);
    expect(headCacheMs({ MARKET: bucket, HEAD_CACHE_SECONDS: "soon" })).toBe(30_000);
    expect(headCacheMs({ MARKET: bucket, HEAD_CACHE_SECONDS: "0" })).toBe(0);
  });
});

describe("a damaged market", () => {
  beforeAll(fillBucket);

  it("is a 500 in JSON that names the object", async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(8));
    const digest = await sha256(bytes);
    const head = JSON.parse(record.head) as { answers: Record<string, string>; revision: string };
    const path = "olares-1.12.6/hash.json";
    await bucket.put(`responses/${head.revision}/${path}`, "{}");
    const answers = { ...head.answers, [path]: digest };
    await bucket.put("head.json", JSON.stringify({ ...head, answers }));
    const response = await send(HASH);
    expect(response.status).toBe(500);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect((await said(response)).message).toContain(`${path} is damaged`);
  });

  it("with a head that is no JSON says so", async () => {
    await bucket.put("head.json", unpack("{"));
    expect((await said(await send(HASH))).message).toBe("head.json is no JSON");
  });
});
