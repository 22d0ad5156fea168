/**
 * The write side: objects that are created once, and one head that moves by compare-and-swap.
 * Together with R2's strong reads this gives the guarantees G1 to G4 of docs/protocol.md.
 */

import { type Context, Hono } from "hono";
import { refusal, result } from "./answers";
import { authenticate, forbidden, lacking, outside, type Scope, type Token } from "./auth";
import { type Bytes, NotPacked, TooLarge, decode, hex, readPacked, sha256 } from "./bytes";
import { DIFFERENCE, Impossible, assemble } from "./difference";
import { type Env, LIMITS } from "./env";
import { canonical } from "./json";
import { collect, collecting, readFence } from "./collect";
import { HEAD_KEY, type Head, headOf } from "./records";
import { parse, rememberHead } from "./storage";
import { type Verdict, examine } from "./validate";

export const PUBLISH = "/api/publish/v1";

type Ctx = Context<{ Bindings: Env }>;

interface Kind {
  readonly form: RegExp;
  /** Most bytes of an object of this kind. */
  readonly limit: number;
}

// The first group, where there is one, is the digest that names the object.
const KINDS: readonly Kind[] = [
  { form: /^blobs\/sha256\/([0-9a-f]{64})$/, limit: LIMITS.blobBytes },
  { form: /^revisions\/([0-9a-f]{64})\.json$/, limit: LIMITS.revisionBytes },
  {
    form: /^responses\/[0-9a-f]{64}\/(?:[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9_-]*\.(?:json|html)$/,
    limit: LIMITS.answerBytes,
  },
];
const PREFIX = /^(?:blobs\/sha256|revisions|responses(?:\/[0-9a-f]{64})?)$/;
/** An object that is put again is renewed when it is older: a collector goes by age. */
const RENEW_AFTER_MS = 60 * 60 * 1000;
const ATTEMPTS = 3;
const SHOWN_PROBLEMS = 10;

export const publish = new Hono<{ Bindings: Env }>();

// Tells a client that it may pack what it sends, and send an object as a difference.
publish.use("*", async (c, next) => {
  await next();
  c.header("accept-encoding", "gzip");
  c.header("accept", `application/octet-stream, ${DIFFERENCE}`);
});
publish.get("/head", readHeadObject);
publish.put("/head", moveHead);
publish.get("/objects", listObjects);
publish.get("/objects/:key{[^]+}", readObject);
publish.put("/objects/:key{[^]+}", createObject);
publish.post("/collect", collectGarbage);
publish.all("*", (c) =>
  refusal(404, { error: "not found", message: `${c.req.method} ${c.req.path} is no operation` }),
);

async function readHeadObject(c: Ctx): Promise<Response> {
  const object = await c.env.MARKET.get(HEAD_KEY);
  if (!object) {
    return refusal(404, { error: "not found", message: "nothing is published yet" });
  }
  return stored(object, object.httpEtag);
}

async function readObject(c: Ctx): Promise<Response> {
  const key = c.req.param("key") ?? "";
  if (!KINDS.some((kind) => kind.form.test(key))) return noKey(key);
  const asked = c.req.raw.method === "HEAD" ? "head" : "get";
  const object = await c.env.MARKET[asked](key);
  if (!object) return refusal(404, { error: "not found", message: key });
  // R2 has compared this digest with the bytes when they came in.
  const { sha256: digest } = object.checksums;
  const etag = digest ? `"${hex(digest)}"` : object.httpEtag;
  if (c.req.header("if-none-match") !== etag) return stored(object, etag);
  if ("body" in object) await (object as R2ObjectBody).body.cancel();
  return new Response(null, { status: 304, headers: { "cache-control": "no-store", etag } });
}

function stored(object: R2Object | R2ObjectBody, etag: string): Response {
  const body = "body" in object ? object.body.pipeThrough(new FixedLengthStream(object.size)) : null;
  return new Response(body, {
    headers: {
      "content-type": "application/octet-stream",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-length": String(object.size),
      etag,
    },
  });
}

async function listObjects(c: Ctx): Promise<Response> {
  const token = await authenticate(c.req.raw, c.env);
  if (token instanceof Response) return token;
  const prefix = c.req.query("prefix") ?? "";
  if (!PREFIX.test(prefix)) return noKey(prefix);
  const cursor = c.req.query("cursor");
  const page = await c.env.MARKET.list({ prefix: `${prefix}/`, ...(cursor && { cursor }) });
  const next = page.truncated ? page.cursor : null;
  return result(200, { keys: page.objects.map((object) => object.key), cursor: next });
}

async function createObject(c: Ctx): Promise<Response> {
  const token = await authenticate(c.req.raw, c.env);
  if (token instanceof Response) return token;
  // A rollback writes as well: the answers of its revision.
  const denied = token.scopes.includes("rollback") ? null : lacking(token, "publish");
  if (denied) return denied;
  const key = c.req.param("key") ?? "";
  const kind = KINDS.find((candidate) => candidate.form.test(key));
  if (!kind) return noKey(key);
  const whole = c.req.header("content-type") !== DIFFERENCE;
  const body = whole ? await limited(c.req.raw, kind.limit) : await assembled(c, kind);
  if (body instanceof Response) return body;
  const digest = await sha256(body);
  const expected = kind.form.exec(key)?.[1] ?? c.req.header("x-content-sha256");
  if (digest !== expected) {
    return wrongDigest(
      `the sha256 of the body is ${digest}, expected ${expected ?? "x-content-sha256"}`,
    );
  }
  return create(c.env.MARKET, key, body, digest);
}

/** Return an object that comes as a difference from the object that `X-Base` names. */
async function assembled(c: Ctx, kind: Kind): Promise<Bytes | Response> {
  const key = c.req.header("x-base") ?? "";
  if (!kind.form.test(key)) return noKey(key);
  const steps = await limited(c.req.raw, LIMITS.differenceBytes);
  if (steps instanceof Response) return steps;
  // Not proved: the digest of what comes out says whether it was the right one.
  const base = await c.env.MARKET.get(key);
  if (!base) return sendWhole(424, "base missing", `${key} is not here`);
  try {
    return assemble(new Uint8Array(await base.arrayBuffer()), steps, kind.limit);
  } catch (error) {
    if (error instanceof TooLarge) return sendWhole(413, "too large", error.message);
    if (error instanceof Impossible) return sendWhole(400, "bad request", error.message);
    throw error;
  }
}

function sendWhole(status: 400 | 413 | 424, error: string, message: string): Response {
  return refusal(status, { error, message, hint: "send the object whole" });
}

async function collectGarbage(c: Ctx): Promise<Response> {
  const token = await authenticate(c.req.raw, c.env);
  if (token instanceof Response) return token;
  const denied = lacking(token, "collect");
  if (denied) return denied;
  const body = await limited(c.req.raw, LIMITS.collectBytes);
  if (body instanceof Response) return body;
  const wish = body.length === 0 ? {} : readJsonBody<unknown>(body);
  return collect(c.env.MARKET, wish);
}

async function create(
  bucket: R2Bucket,
  key: string,
  body: Bytes,
  digest: string,
): Promise<Response> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const onlyIf = { etagDoesNotMatch: "*" };
    if (await bucket.put(key, body, { onlyIf, sha256: digest })) {
      return result(201, { key, created: true });
    }
    const found = await bucket.head(key);
    // Collected between the two calls: try again.
    if (!found) continue;
    const known = found.checksums.sha256;
    if (!known || hex(known) !== digest) {
      return refusal(409, {
        error: "conflict",
        message: `${key} exists with other content`,
        hint: "objects never change; publish the app under a new version",
      });
    }
    const old = Date.now() - found.uploaded.getTime() > RENEW_AFTER_MS;
    const same = { onlyIf: { etagMatches: found.etag }, sha256: digest };
    if (old && !(await bucket.put(key, body, same))) continue;
    return result(200, { key, created: false });
  }
  return refusal(503, { error: "busy", message: `${key} comes and goes` }, { "retry-after": "1" });
}

async function moveHead(c: Ctx): Promise<Response> {
  const token = await authenticate(c.req.raw, c.env);
  if (token instanceof Response) return token;
  const body = await limited(c.req.raw, LIMITS.headBytes);
  if (body instanceof Response) return body;
  const bucket = c.env.MARKET;
  const old = await bucket.get(HEAD_KEY);
  const oldBytes = old && new Uint8Array(await old.arrayBuffer());
  const wanted = readJsonBody<Head>(body);
  if (!wanted) return refusal(400, { error: "bad request", message: "the body is no JSON object" });
  // The answer to a swap that succeeded may have been lost: the same swap again is no conflict.
  if (old && oldBytes && equal(oldBytes, body)) {
    return result(200, { revision: wanted.revision, moved: false }, { etag: old.httpEtag });
  }
  const refused = precondition(c.req.raw, old);
  if (refused) return refused;
  const base = oldBytes && parse<Head>(oldBytes, HEAD_KEY);
  const fence = await readFence(bucket);
  if (fence.busy) return collecting();
  const verdict = await examine(bucket, wanted, base, fence.etag);
  const denied = verdict.revision ? outside(token, verdict.changed) : null;
  if (denied) return denied;
  if (!verdict.revision || verdict.problems.length > 0) return invalid(verdict);
  if (canonical(headOf(wanted.revision, verdict.revision)) !== decode(body)) {
    return invalid({ ...verdict, problems: ["the head is not the one that follows from its revision"] });
  }
  if (verdict.checked < verdict.parts) return unfinished(wanted.revision, verdict);
  const refusedChange = permission(token, verdict);
  if (refusedChange) return refusedChange;
  // A collector that worked meanwhile may have taken away what was just seen.
  if ((await readFence(bucket)).etag !== fence.etag) return collecting();
  const onlyIf = old ? { etagMatches: old.etag } : { etagDoesNotMatch: "*" };
  const put = await bucket.put(HEAD_KEY, body, { onlyIf, sha256: await sha256(body) });
  if (!put) return moved(null);
  rememberHead(wanted, put.etag);
  return result(200, { revision: wanted.revision, moved: true }, { etag: put.httpEtag });
}

/** Say that the same request is to be sent again: one request may only look up so much. */
function unfinished(revision: string, { checked, parts }: Verdict): Response {
  return result(202, { revision, moved: false, checked, parts, hint: "send the same request again" });
}

/** Return the refusal for a swap whose expectation is missing or does not hold, or null. */
function precondition(request: Request, old: R2Object | null): Response | null {
  const match = request.headers.get("if-match");
  const none = request.headers.get("if-none-match");
  if (match === null && none !== "*") {
    return refusal(428, {
      error: "condition missing",
      message: "moving the head takes If-Match with its etag, or If-None-Match: * for the first",
      hint: "read the head, plan on it, and send its etag",
    });
  }
  const holds = match === null ? old === null : old !== null && match === old.httpEtag;
  return holds ? null : moved(old);
}

function moved(now: R2Object | null): Response {
  return refusal(
    412,
    {
      error: "head moved",
      message: "somebody else published meanwhile",
      hint: "read the head again, plan on it and try once more; nothing was changed",
    },
    now ? { etag: now.httpEtag } : {},
  );
}

function permission(token: Token, verdict: Verdict): Response | null {
  const needed: Scope[] = [];
  if (verdict.takesAway) needed.push("rollback");
  if (verdict.adds || verdict.newPolicy || !verdict.takesAway) needed.push("publish");
  for (const scope of needed) {
    const refused = lacking(token, scope);
    if (refused) return refused;
  }
  if (!token.apps) return null;
  if (verdict.newPolicy) return forbidden(token, "may not bring pages with a script of their own");
  return verdict.changesMarket
    ? forbidden(token, "may not change the market's name or generations")
    : null;
}

function invalid(verdict: Verdict): Response {
  const { problems } = verdict;
  const more = problems.length - SHOWN_PROBLEMS;
  return refusal(verdict.status, {
    error: "not published",
    message: problems.slice(0, SHOWN_PROBLEMS).join("\n") + (more > 0 ? `\n... and ${more} more` : ""),
    hint: verdict.hint,
  });
}

async function limited(request: Request, limit: number): Promise<Bytes | Response> {
  try {
    return await readPacked(request, limit, LIMITS.drainedBytes);
  } catch (error) {
    if (error instanceof NotPacked) return wrongDigest(error.message);
    if (!(error instanceof TooLarge)) throw error;
    return refusal(413, { error: "too large", message: error.message });
  }
}

function wrongDigest(message: string): Response {
  const hint = "the bytes changed on the way; send them again";
  return refusal(400, { error: "wrong digest", message, hint });
}

function readJsonBody<T>(body: Bytes): T | null {
  try {
    const value: unknown = JSON.parse(decode(body));
    return typeof value === "object" && value !== null ? (value as T) : null;
  } catch {
    return null;
  }
}

function equal(a: Bytes, b: Bytes): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

function noKey(key: string): Response {
  return refusal(400, {
    error: "bad request",
    message: `'${key.slice(0, 200)}' names no object of a market`,
  });
}
