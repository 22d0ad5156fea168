/** Responses: one function per kind, so that no route forgets a header. */

import { type Bytes, encode } from "./bytes";
import tables from "./contract.json";
import { asciiObject } from "./json";

const ALWAYS = { "x-content-type-options": "nosniff" };
const CORS = { "access-control-allow-origin": "*" };
const PREFLIGHT = {
  "access-control-allow-methods": "GET, HEAD, POST, OPTIONS",
  "access-control-allow-headers": "content-type, authorization, if-none-match",
  "access-control-max-age": "86400",
};
const NO_STORE = { "cache-control": "no-store" };

export const CACHE = {
  // Names are immutable: other bytes under a known version are refused.
  forEver: "public, max-age=31536000, immutable",
  short: "public, max-age=300",
  // A page may change with every publish; its digest saves the body.
  askAgain: "no-cache",
} as const;

type Headers = Readonly<Record<string, string>>;

/** Say whether one of the tags that a client knows is the answer's. */
function known(request: Request, etag: string): boolean {
  const sent = request.headers.get("if-none-match") ?? "";
  return sent.trim() === "*" || sent.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

/** Return a body that anybody may read, or 304 when the client has it already. */
function readable(request: Request, body: Bytes, etag: string, headers: Headers): Response {
  const shared = { ...ALWAYS, ...CORS, etag };
  if (known(request, etag)) {
    const kept = Object.entries(headers).filter(([name]) => !name.startsWith("content-"));
    return new Response(null, { status: 304, headers: { ...Object.fromEntries(kept), ...shared } });
  }
  const length = { "content-length": String(body.length) };
  return new Response(body, { headers: { ...headers, ...length, ...shared } });
}

/** Return a JSON answer for devices; `digest` is that of what goes over the wire. */
export function json(request: Request, body: Bytes, digest: string): Response {
  return readable(request, body, `"${digest}"`, { "content-type": "application/json", ...NO_STORE });
}

/** Return a stored file, named by its digest. */
export function file(request: Request, body: Bytes, digest: string, headers: Headers): Response {
  return readable(request, body, `"${digest}"`, headers);
}

/** Return an error of the read side: JSON, never a page, and readable by a browser's script. */
export function failure(
  status: number,
  error: string,
  message: string,
  headers: Headers = {},
): Response {
  return refusal(status, { error, message }, { ...CORS, ...headers });
}

/** Return what people get for a path that has no page. */
export function noPage(): Response {
  const body = encode(tables.no_page);
  return new Response(body, {
    status: 404,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'",
      ...NO_STORE,
      "content-length": String(body.length),
      ...ALWAYS,
      ...CORS,
    },
  });
}

/** Return an error of the write side: what is wrong, and what to do about it. */
export function refusal(
  status: number,
  body: Readonly<Record<string, string>>,
  headers: Headers = {},
): Response {
  const bytes = encode(asciiObject(body));
  return new Response(bytes, {
    status,
    headers: {
      "content-type": "application/json",
      ...NO_STORE,
      "content-length": String(bytes.length),
      ...ALWAYS,
      ...headers,
    },
  });
}

/** Return a result of the write side. */
export function result(status: number, body: unknown, headers: Headers = {}): Response {
  return Response.json(body, { status, headers: { ...NO_STORE, ...ALWAYS, ...headers } });
}

/** Answer a browser that asks before it reads from another origin. */
export function preflight(): Response {
  return new Response(null, { status: 204, headers: { ...PREFLIGHT, ...ALWAYS, ...CORS } });
}
