/** What the tests share: the recorded market in the bucket, requests, and tokens. */

import { env } from "cloudflare:test";
import worker from "../src/index";
import type { Env } from "../src/env";
import content from "../../tests/worker/conformance.json";

declare global {
  namespace Cloudflare {
    interface Env {
      MARKET: R2Bucket;
    }
  }
}

type Packed = string | { base64: string };

interface Expected {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly sha256: string;
}

export interface Asked {
  readonly method: string;
  readonly target: string;
  readonly body?: string;
  readonly if_none_match?: string;
  readonly answer: Expected;
}

export const record = content as unknown as {
  readonly head: string;
  readonly objects: Readonly<Record<string, Packed>>;
  readonly requests: readonly Asked[];
  readonly empty: readonly Asked[];
  readonly bodies: Readonly<Record<string, Packed>>;
};

export const bucket = env.MARKET;

export function unpack(packed: Packed): Uint8Array<ArrayBuffer> {
  if (typeof packed === "string") return new TextEncoder().encode(packed) as Uint8Array<ArrayBuffer>;
  return Uint8Array.from(atob(packed.base64), (char) => char.charCodeAt(0));
}

export async function sha256(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export async function emptyBucket(): Promise<void> {
  const { objects } = await bucket.list();
  await bucket.delete(objects.map((object) => object.key));
}

export async function fillBucket(): Promise<void> {
  await emptyBucket();
  for (const [key, data] of Object.entries(record.objects)) await bucket.put(key, unpack(data));
  await bucket.put("head.json", record.head);
}

/** Send a request to the Worker, without a cached head unless asked for. */
export function send(
  target: string,
  init: RequestInit = {},
  more: Partial<Env> = {},
): Promise<Response> {
  const bound: Env = { MARKET: bucket, HEAD_CACHE_SECONDS: "0", ...more };
  return Promise.resolve(worker.fetch(new Request(new URL(target, "https://market.example"), init), bound));
}

export async function said(response: Response): Promise<Record<string, string>> {
  return response.json();
}

export interface Entry {
  readonly scopes?: readonly string[];
  readonly apps?: readonly string[];
  readonly expires?: string;
}

/** Return the secret that lets the given tokens in. */
export async function secret(tokens: Readonly<Record<string, Entry>>): Promise<string> {
  const entries = Object.entries(tokens).map(async ([token, entry], index) => ({
    name: `token${index}`,
    sha256: await sha256(token),
    scopes: ["publish", "rollback"],
    expires: "2099-01-01T00:00:00Z",
    ...entry,
  }));
  return JSON.stringify(await Promise.all(entries));
}
