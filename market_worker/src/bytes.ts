/** Bytes: digests, hex, joining, and request bodies with a limit. */

export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

export function encode(text: string): Bytes {
  return encoder.encode(text) as Bytes;
}

/** Return the text of bytes; throws TypeError when they are not UTF-8. */
export function decode(bytes: Bytes): string {
  return strict.decode(bytes);
}

export function hex(buffer: ArrayBuffer): string {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export async function sha256(bytes: Bytes): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", bytes));
}

export function concat(parts: readonly Bytes[]): Bytes {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** A body that is larger than its limit; `size` is what was said or counted. */
export class TooLarge extends Error {
  constructor(
    readonly size: number,
    readonly limit: number,
  ) {
    super(`${size} bytes, limit ${limit}`);
  }
}

/**
 * Return a request's body; throws TooLarge. What is too large is read and dropped up to `drained`
 * bytes: a client that is still sending would take an early answer for a broken connection.
 */
export async function readBody(request: Request, limit: number, drained: number): Promise<Bytes> {
  // A body that says its length, as almost all do, is read in one go.
  const said = Number(request.headers.get("content-length") ?? Number.NaN);
  if (said <= limit) return new Uint8Array(await request.arrayBuffer());
  return gather(request.body, limit, drained);
}

/** A body that says it is packed and is not. */
export class NotPacked extends Error {}

/**
 * Return a request's body, unpacked when its `Content-Encoding` is gzip; throws NotPacked and
 * TooLarge, whose limits count what comes out: a small body cannot become a large one.
 */
export async function readPacked(request: Request, limit: number, drained: number): Promise<Bytes> {
  if (request.headers.get("content-encoding") !== "gzip" || !request.body) {
    return readBody(request, limit, drained);
  }
  try {
    return await gather(request.body.pipeThrough(new DecompressionStream("gzip")), limit, drained);
  } catch (error) {
    if (error instanceof TypeError) throw new NotPacked("the body is not gzip, or not whole");
    throw error;
  }
}

async function gather(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  drained: number,
): Promise<Bytes> {
  const parts: Bytes[] = [];
  let size = 0;
  for await (const part of body ?? []) {
    size += part.length;
    if (size <= limit) parts.push(part as Bytes);
    if (size > drained) break;
  }
  if (size > limit) throw new TooLarge(size, limit);
  return concat(parts);
}

/** Read and drop a body that nobody has read, up to `limit` bytes, for the same reason. */
export async function drain(request: Request, limit: number): Promise<void> {
  if (!request.body || request.bodyUsed) return;
  let size = 0;
  for await (const part of request.body) {
    size += part.length;
    if (size > limit) break;
  }
}
