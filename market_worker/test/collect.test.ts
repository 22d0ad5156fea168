import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { bucket, emptyBucket, fillBucket, record, said, secret, send, sha256, unpack } from "./market";

const API = "/api/publish/v1";
const DAY = 24 * 60 * 60 * 1000;

interface Step {
  readonly phase: string;
  readonly done: boolean;
  readonly removed: number;
  readonly looked: number;
}

async function call(method: string, path: string, init: RequestInit = {}, scopes = ["publish", "collect"]) {
  const TOKENS = await secret({ olapps_one: { scopes } });
  const headers = { authorization: "Bearer olapps_one", ...init.headers };
  return send(`${API}${path}`, { method, ...init, headers }, { TOKENS });
}

async function collect(wish: object = {}): Promise<Step> {
  for (;;) {
    const response = await call("POST", "/collect", { body: JSON.stringify(wish) });
    expect(response.status).toBe(200);
    const step: Step = await response.json();
    if (step.done) return step;
  }
}

async function keys(): Promise<string[]> {
  return (await bucket.list()).objects.map(({ key }) => key).filter((key) => !key.startsWith("gc/"));
}

/** Return the keys of the market, two days later and without what its record holds beyond it. */
async function tidied(): Promise<string[]> {
  later(2 * DAY);
  await collect();
  return keys();
}

async function blob(body: string): Promise<string> {
  const key = `blobs/sha256/${await sha256(body)}`;
  await bucket.put(key, body, { sha256: await sha256(body) });
  return key;
}

/** Put the recorded market into the bucket, with a revision, which the read side does not need. */
async function fillMarket(): Promise<void> {
  await fillBucket();
  const head = JSON.parse(record.head) as { revision: string };
  const files = record.objects[`responses/${head.revision}/files.json`];
  const { ledgers, icons } = JSON.parse(String(files)) as {
    ledgers: Record<string, string>;
    icons: Record<string, { sha256: string }>;
  };
  const apps = Object.entries(ledgers).map(([name, ledger]) => [
    name,
    { ledger, current: {}, icon: icons[name] ?? null },
  ]);
  const revision = JSON.stringify({ parent: null, apps: Object.fromEntries(apps) });
  live = await sha256(revision);
  await bucket.put(`revisions/${live}.json`, revision);
  for (const [key, data] of Object.entries(record.objects)) {
    if (!key.startsWith("responses/")) continue;
    await bucket.delete(key);
    await bucket.put(key.replace(head.revision, live), unpack(data));
  }
  await bucket.put("head.json", JSON.stringify({ ...head, revision: live }));
}

let live = "";

/** Publish the market anew, without a change, so often; return the revisions' keys, newest first. */
async function lengthen(times: number): Promise<string[]> {
  const chain = [`revisions/${live}.json`];
  const head = await (await bucket.get("head.json"))?.json<object>();
  for (let time = 1; time <= times; time += 1) {
    const old = await (await bucket.get(`revisions/${live}.json`))?.json<object>();
    const next = JSON.stringify({ ...old, parent: live, time });
    live = await sha256(next);
    await bucket.put(`revisions/${live}.json`, next);
    chain.unshift(`revisions/${live}.json`);
  }
  await bucket.put("head.json", JSON.stringify({ ...head, revision: live }));
  return chain;
}

async function revisions(): Promise<string[]> {
  return (await bucket.list({ prefix: "revisions/" })).objects.map(({ key }) => key);
}

/** Let time pass for the Worker; R2 goes on by its own clock. */
function later(ms: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
}

beforeEach(fillMarket);
afterEach(() => {
  vi.useRealTimers();
});

describe("the collector", () => {
  it("removes what no kept revision reaches, and nothing else", async () => {
    const kept = await tidied();
    const lost = `responses/${"0".repeat(64)}/any/catalog.json`;
    await bucket.put(lost, "{}");
    await bucket.put(`checks/${"0".repeat(64)}.json`, "{}");
    await bucket.put(`revisions/${"0".repeat(64)}.json`, "{}");
    await blob("nobody's");
    later(4 * DAY);
    expect(await collect({ dry_run: true })).toMatchObject({ removed: 4 });
    expect(await keys()).toHaveLength(kept.length + 4);
    expect(await collect()).toMatchObject({ removed: 4, looked: kept.length + 3 });
    expect(await keys()).toEqual(kept);
    expect(await collect()).toMatchObject({ removed: 0 });
  });

  it("leaves what is younger than a day", async () => {
    const mine = await blob("of a publish in progress");
    later(DAY - 60_000);
    expect(await collect()).toMatchObject({ removed: 0 });
    expect(await bucket.head(mine)).not.toBeNull();
  });

  it("leaves what was put again meanwhile", async () => {
    const body = "wanted again";
    const key = await blob(body);
    later(DAY - 60_000);
    expect((await call("PUT", `/objects/${key}`, { body })).status).toBe(200);
    // The put has renewed the age by the clock of R2; the collector looks a day after it.
    const { uploaded } = (await bucket.head(key)) ?? { uploaded: new Date(0) };
    vi.setSystemTime(uploaded.getTime() + DAY - 1000);
    expect(await collect()).toMatchObject({ removed: 0 });
  });

  it("marks anew when the head has moved", async () => {
    const kept = await tidied();
    expect(await (await call("POST", "/collect")).json()).toMatchObject({ phase: "mark", done: false });
    const state = await (await bucket.get("gc/state.json"))?.json<{ head: string }>();
    await bucket.put("gc/state.json", JSON.stringify({ ...state, head: "f".repeat(64), marks: [] }));
    await collect();
    expect(await keys()).toEqual(kept);
  });

  it("keeps the last revisions, in a chain of any length", async () => {
    const chain = await lengthen(45);
    later(2 * DAY);
    await collect({ keep: 12 });
    expect((await revisions()).sort()).toEqual(chain.slice(0, 12).sort());
  });

  it("keeps every revision that is young, in as many steps as it takes", async () => {
    const chain = await lengthen(45);
    later(DAY - 60_000);
    expect(await collect()).toMatchObject({ removed: 0 });
    expect(await revisions()).toHaveLength(chain.length);
  });

  it("removes nothing else when somebody has put the first revision beyond the kept ones anew", async () => {
    const chain = await lengthen(15);
    later(2 * DAY);
    while ((await (await call("POST", "/collect")).json<Step>()).phase === "mark") {
      const state = await (await bucket.get("gc/state.json"))?.json<{ next: unknown; ledgers: unknown[] }>();
      if (state?.next === null && state.ledgers.length === 0) break;
    }
    const { uploaded } = (await bucket.head(chain[10] ?? "")) ?? { uploaded: new Date(0) };
    vi.setSystemTime(uploaded.getTime() + DAY - 1000);
    expect(await (await call("POST", "/collect")).json()).toMatchObject({ phase: "mark", removed: 0 });
    expect(await revisions()).toHaveLength(chain.length);
    expect(await bucket.head("gc/state.json")).toBeNull();
  });

  it("waits while another one removes", async () => {
    const lost = await blob("nobody's");
    later(2 * DAY);
    await bucket.put("gc/fence.json", "1", { customMetadata: { until: String(Date.now() + 20_000) } });
    let response: Response;
    do response = await call("POST", "/collect");
    while (response.status === 200);
    expect(response.status).toBe(503);
    expect((await said(response)).error).toBe("collecting");
    expect(await bucket.head(lost)).not.toBeNull();
    later(30_000);
    await collect();
    expect(await bucket.head(lost)).toBeNull();
  });

  it("of a market that is damaged removes nothing", async () => {
    await bucket.put(`revisions/${live}.json`, "{}");
    await blob("nobody's");
    const kept = await keys();
    later(2 * DAY);
    // Another isolate, which has nothing in its memory.
    vi.resetModules();
    const { default: fresh } = await import("../src/index");
    const TOKENS = await secret({ t: { scopes: ["collect"] } });
    const init = { method: "POST", headers: { authorization: "Bearer t" } };
    const asked = new Request(`https://market.example${API}/collect`, init);
    const response = await fresh.fetch(asked, { MARKET: bucket, TOKENS });
    expect(response.status).toBe(500);
    expect((await said(response)).message).toContain("is damaged");
    expect(await keys()).toEqual(kept);
  });

  it("of an empty market has nothing to do", async () => {
    await emptyBucket();
    expect(await collect()).toMatchObject({ done: true, removed: 0 });
  });

  it("is for tokens that may", async () => {
    const response = await call("POST", "/collect", {}, ["publish", "rollback"]);
    expect(response.status).toBe(403);
    expect((await send(`${API}/collect`, { method: "POST" }, { TOKENS: await secret({ t: {} }) })).status).toBe(401);
  });

  it.each([
    ["[", "no object"],
    ["7", "no object"],
    ["null", "no object"],
    ["[]", "no object"],
    ['"dry_run"', "no object"],
    ['{"keep":9}', "keep is no number"],
    ['{"keep":"all"}', "keep is no number"],
    ['{"keep":21}', "keep is no number"],
    ['{"dry_run":"no"}', "dry_run is neither"],
    ['{"dryRun":true}', "dryRun is no known field"],
    ['{"keep":10,"dry-run":true}', "dry-run is no known field"],
  ])("takes no wish such as %s", async (body, reason) => {
    const response = await call("POST", "/collect", { body });
    expect([response.status, (await said(response)).message]).toEqual([400, expect.stringContaining(reason)]);
    expect(await bucket.head("gc/state.json")).toBeNull();
  });
});

describe("a head that would move while objects are removed", () => {
  const move = () =>
    call("PUT", "/head", {
      body: JSON.stringify({ revision: "a".repeat(64) }),
      headers: { "if-match": "" },
    });

  it("waits", async () => {
    const until = { customMetadata: { until: String(Date.now() + 20_000) } };
    await bucket.put("gc/fence.json", "1", until);
    const etag = (await bucket.head("head.json"))?.httpEtag ?? "";
    const init = { body: JSON.stringify({ revision: "a".repeat(64) }), headers: { "if-match": etag } };
    const response = await call("PUT", "/head", init);
    expect(response.status).toBe(503);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await said(response)).error).toBe("collecting");
    later(30_000);
    expect((await call("PUT", "/head", init)).status).toBe(422);
  });

  it("is still refused for what it would be refused for otherwise", async () => {
    expect((await move()).status).toBe(412);
  });
});
