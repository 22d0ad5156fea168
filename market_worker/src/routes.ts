/** The read side: what devices and browsers ask for, each a lookup (docs/protocol.md). */

import { type Context, Hono } from "hono";
import { CACHE, failure, file, json, noPage } from "./answers";
import { type Bytes, TooLarge, concat, decode, encode, readBody, sha256 } from "./bytes";
import { type Env, LIMITS, headCacheMs } from "./env";
import { asciiList, asciiText, canonical } from "./json";
import { type Head, type Ledger, archiveName } from "./records";
import { ANY, FALLBACK, parseRelease, setFor } from "./releases";
import { Memory, Snapshot, freshHead, readHead } from "./storage";

type Ctx = Context<{ Bindings: Env }>;
type Handler = (c: Ctx) => Promise<Response>;

const SOURCE_ID_CHARACTERS = 200;
const MESSAGE_CHARACTERS = 200;

export const routes = new Hono<{ Bindings: Env }>();

/** Register a route for one method (GET takes HEAD too); any other one is told which to use. */
function route(method: "GET" | "POST", path: string, handler: Handler): void {
  const allow = method === "GET" ? "GET, HEAD" : "POST";
  routes.on(method, path, handler);
  routes.all(path, (c) =>
    failure(405, "method not allowed", `${c.req.path} takes ${allow}`, { allow }),
  );
}

route("GET", "/api/v1/appstore/hash", (c) => v1(c, "hash.json"));
route("GET", "/api/v1/appstore/info", (c) => v1(c, "info.json"));
route("POST", "/api/v1/applications/info", details);
route("GET", "/api/v2/catalog", catalog);
route("GET", "/api/v2/taxonomy", taxonomy);
route("GET", "/api/v2/applications", applications);
route("GET", "/api/v2/browse/applications", applications);
route("GET", "/api/:v{v[12]}/applications/:app{[a-z0-9]{1,30}}/chart", chart);
route("GET", "/icons/:icon{[a-z0-9]{1,30}\\.(?:png|webp)}", icon);
route("GET", "/health", health);
route("GET", "/", page);
route("GET", "/leaderboard", page);
route("GET", "/apps/*", page);
route("GET", "/share/:file{[a-z0-9]{1,30}\\.png}", page);

/** Return the value of a query field; of a field that stands twice the last one counts. */
function field(c: Ctx, name: string): string | undefined {
  return c.req.queries(name)?.at(-1);
}

/** Return the live revision, at most `maxAge` ms old, or null. */
async function current(c: Ctx, maxAge = headCacheMs(c.env)): Promise<Snapshot | null> {
  const head = await readHead(c.env.MARKET, maxAge);
  return head && new Snapshot(c.env.MARKET, head);
}

function empty(): Response {
  return failure(503, "nothing is published yet", "publish an app first");
}

/** Return the version to answer with and the set to answer from. */
function device(snapshot: Snapshot, asked: string | undefined): [string, string] {
  const release = parseRelease(asked);
  if (release && asked !== undefined) return [asked, setFor(snapshot.head.generations, release)];
  return [FALLBACK, setFor(snapshot.head.generations, parseRelease(FALLBACK) ?? [0, 0, 0])];
}

/** Return the set for a v2 request, which may or may not name the device's version. */
function setOf(c: Ctx, snapshot: Snapshot): string {
  const release = parseRelease(field(c, "version") || field(c, "olares_version"));
  return release ? setFor(snapshot.head.generations, release) : ANY;
}

interface Wire {
  readonly body: Bytes;
  readonly digest: string;
}

/**
 * What goes over the wire is put together and hashed once for all devices that ask the same of one
 * revision: by address, and body where there is one.
 */
let wires: { readonly head: Head; readonly memory: Memory<Wire> } | null = null;

function wiresOf(head: Head): Memory<Wire> {
  if (wires?.head !== head) wires = { head, memory: new Memory(LIMITS.cacheBytes) };
  return wires.memory;
}

/** Return the answer to a request that was given before, while the head need not be looked at. */
export function remembered(request: Request, env: Env): Response | null {
  if (request.method !== "GET" || request.body !== null) return null;
  const head = freshHead(headCacheMs(env));
  const wire = head && wiresOf(head).get(request.url);
  return wire ? json(request, wire.body, wire.digest) : null;
}

/** Return the answer that `make` makes of a revision for the request and what it carries. */
async function answer(
  { req: { raw } }: Ctx,
  { head }: Snapshot,
  make: () => Promise<Bytes>,
  carried = "",
): Promise<Response> {
  const memory = wiresOf(head);
  const name = `${raw.url}${carried && ` ${carried}`}`;
  let wire = memory.get(name);
  if (!wire) {
    const body = await make();
    wire = { body, digest: await sha256(body) };
    memory.set(name, wire, body.length + name.length);
  }
  return json(raw, wire.body, wire.digest);
}

/** Return a JSON object with one more text field, put before the others. */
function withFirst(body: Bytes, name: string, value: string): Bytes {
  return concat([encode(`{${asciiText(name)}:${asciiText(value)},`), body.subarray(1)]);
}

function envelope(data: Bytes): Bytes {
  return concat([encode('{"code":0,"msg":"success","data":'), data, encode("}")]);
}

async function v1(c: Ctx, path: string): Promise<Response> {
  const snapshot = await current(c);
  if (!snapshot) return empty();
  const [version, set] = device(snapshot, field(c, "version"));
  return answer(c, snapshot, async () =>
    withFirst(await snapshot.answer(`${set}/${path}`), "version", version),
  );
}

async function details(c: Ctx): Promise<Response> {
  try {
    const { detailsBytes, drainedBytes } = LIMITS;
    const body = textOf(await readBody(c.req.raw, detailsBytes, drainedBytes));
    // Never from a cached head: a device that has seen a new list must not get old details, since
    // it would keep them until the next change.
    const snapshot = await current(c, 0);
    if (snapshot) return await answer(c, snapshot, () => detailsBody(snapshot, body), body);
    detailsRequest(body);
    return empty();
  } catch (error) {
    if (error instanceof TooLarge) return failure(413, "too large", error.message);
    if (error instanceof BadRequest) return failure(400, "bad request", error.message);
    throw error;
  }
}

async function detailsBody(snapshot: Snapshot, body: string): Promise<Bytes> {
  const asked = detailsRequest(body);
  const [version, set] = device(snapshot, asked.version);
  const { ids } = asked;
  const index = await snapshot.document<Record<string, string>>(`${set}/details.json`);
  const found = ids.filter((id) => Object.hasOwn(index, id));
  const missing = ids.filter((id) => !Object.hasOwn(index, id));
  const blobs = await Promise.all(found.map((id) => snapshot.blob(index[id] ?? "", "detail")));
  const parts = [encode(`{"version":${asciiText(version)},"apps":{`)];
  found.forEach((id, at) => {
    parts.push(encode(`${at ? "," : ""}${asciiText(id)}:`), blobs[at] ?? encode("null"));
  });
  parts.push(encode(`},"not_found":${asciiList(missing)}}`));
  return concat(parts);
}

class BadRequest extends Error {}

function textOf(body: Bytes): string {
  try {
    return decode(body);
  } catch {
    throw new BadRequest("the body is no JSON");
  }
}

/** Return the ids and the version of a request for details; throws BadRequest. */
function detailsRequest(body: string): { ids: string[]; version: string | undefined } {
  let request: unknown;
  try {
    request = JSON.parse(body);
  } catch {
    throw new BadRequest("the body is no JSON");
  }
  if (typeof request !== "object" || request === null || Array.isArray(request)) {
    throw new BadRequest("the body is no object");
  }
  const { app_ids: ids, version } = request as { app_ids?: unknown; version?: unknown };
  if (!Array.isArray(ids) || !ids.every((id): id is string => typeof id === "string")) {
    throw new BadRequest("app_ids is no list of strings");
  }
  if (ids.length > LIMITS.detailsIds) {
    throw new BadRequest(`app_ids has ${ids.length} ids, limit ${LIMITS.detailsIds}`);
  }
  if (version != null && typeof version !== "string") {
    throw new BadRequest("version is no string");
  }
  return { ids: [...new Set(ids)], version: version ?? undefined };
}

async function catalog(c: Ctx): Promise<Response> {
  const snapshot = await current(c);
  if (!snapshot) return empty();
  const asked = field(c, "source_id") ?? "";
  const length = [...asked].length;
  const source = length > 0 && length <= SOURCE_ID_CHARACTERS ? asked : snapshot.head.source;
  const path = `${setOf(c, snapshot)}/catalog.json`;
  return answer(c, snapshot, async () =>
    envelope(withFirst(await snapshot.answer(path), "source_id", source)),
  );
}

async function taxonomy(c: Ctx): Promise<Response> {
  const snapshot = await current(c);
  if (!snapshot) return empty();
  const path = `${setOf(c, snapshot)}/taxonomy.json`;
  return answer(c, snapshot, async () => envelope(await snapshot.answer(path)));
}

async function applications(c: Ctx): Promise<Response> {
  const snapshot = await current(c);
  if (!snapshot) return empty();
  const path = `${setOf(c, snapshot)}/applications.json`;
  const size = positive(field(c, "size"));
  if (!size) return answer(c, snapshot, async () => envelope(await snapshot.answer(path)));
  const page = positive(field(c, "page")) || 1;
  return answer(c, snapshot, () => listing(snapshot, path, size, page));
}

async function listing(
  snapshot: Snapshot,
  path: string,
  size: number,
  page: number,
): Promise<Bytes> {
  const whole = await snapshot.document<{ items: unknown[] }>(path);
  const start = (page - 1) * size;
  const listed = {
    ...whole,
    items: whole.items.slice(start, start + size),
    has_more: start + size < whole.items.length,
    page,
    page_size: size,
  };
  return envelope(encode(canonical(listed)));
}

function positive(text: string | undefined): number {
  return /^[0-9]{1,9}$/.test(text ?? "") ? Number(text) : 0;
}

async function chart(c: Ctx): Promise<Response> {
  const app = c.req.param("app") ?? "";
  const name = field(c, "fileName") || archiveName(app, field(c, "version") ?? "");
  // A 404 is stored by devices like an archive, so a head that may be old does not give one.
  for (const maxAge of [headCacheMs(c.env), 0]) {
    const snapshot = await current(c, maxAge);
    if (!snapshot) return empty();
    const digest = await archiveDigest(snapshot, app, name);
    if (digest) {
      return file(c.req.raw, await snapshot.blob(digest, name), digest, {
        "content-type": "application/gzip",
        "content-disposition": `attachment; filename="${name}"`,
        "cache-control": CACHE.forEver,
      });
    }
  }
  const message = [...`${app} has no ${name}`].slice(0, MESSAGE_CHARACTERS).join("");
  return failure(404, "chart not found", message);
}

async function archiveDigest(snapshot: Snapshot, app: string, name: string): Promise<string | null> {
  const ledgers = (await snapshot.files()).ledgers;
  const digest = Object.hasOwn(ledgers, app) ? ledgers[app] : undefined;
  if (!digest) return null;
  const { charts } = await snapshot.blobDocument<Ledger>(digest, `ledger of ${app}`);
  return Object.hasOwn(charts, name) ? (charts[name]?.sha256 ?? null) : null;
}

async function icon(c: Ctx): Promise<Response> {
  const app = (c.req.param("icon") ?? "").split(".")[0] ?? "";
  const snapshot = await current(c);
  if (!snapshot) return empty();
  const icons = (await snapshot.files()).icons;
  const stored = Object.hasOwn(icons, app) ? icons[app] : undefined;
  if (!stored) return failure(404, "icon not found", app);
  return file(c.req.raw, await snapshot.blob(stored.sha256, `icon of ${app}`), stored.sha256, {
    "content-type": stored.type,
    "cache-control": CACHE.short,
  });
}

/** Return a page for people or a picture of one, as the publisher prepared it. */
async function page(c: Ctx): Promise<Response> {
  const snapshot = await current(c);
  if (!snapshot) return empty();
  const { path } = c.req;
  const routes = await snapshot.pages();
  const found = Object.hasOwn(routes, path) ? routes[path] : undefined;
  if (!found && path.startsWith("/share/")) {
    return failure(404, "picture not found", `${path}: no app here, or it has no page`);
  }
  if (!found) return noPage();
  const digest = found.answer === undefined ? found.blob : (snapshot.head.answers[found.answer] ?? "");
  const body =
    found.answer === undefined
      ? await snapshot.blob(digest, path)
      : await snapshot.answer(found.answer);
  const kept = found.type.startsWith("image/")
    ? { "cache-control": CACHE.short }
    : { "cache-control": CACHE.askAgain, "referrer-policy": "no-referrer" };
  const headers = { "content-security-policy": found.csp, "content-type": found.type, ...kept };
  return file(c.req.raw, body, digest, headers);
}

async function health(c: Ctx): Promise<Response> {
  const head = (await current(c))?.head;
  const state = head
    ? {
        status: "ok",
        name: head.label,
        apps: head.apps,
        revision: head.revision,
        hash: head.hash,
        updated: head.updated,
      }
    : { status: "empty", apps: 0 };
  const body = encode(canonical(state));
  return json(c.req.raw, body, await sha256(body));
}
