/**
 * A Worker of the old kind, for the comparison in tests/support/bench_worker.py: the catalogue and every
 * archive are part of the bundle, as JSON and base64, and decoded when a request comes.
 */

import market from "./old.json";

interface Market {
  readonly hash: string;
  readonly info: object;
  readonly details: Readonly<Record<string, unknown>>;
  readonly charts: Readonly<Record<string, string>>;
}

const { hash, info, details, charts } = market as unknown as Market;

function json(value: unknown): Response {
  return new Response(JSON.stringify(value), {
    headers: { "content-type": "application/json", "access-control-allow-origin": "*" },
  });
}

export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const version = url.searchParams.get("version") ?? "1.12.3";
    const last_updated = new Date().toISOString();
    switch (url.pathname) {
      case "/api/v1/appstore/hash":
        return json({ version, hash, last_updated });
      case "/api/v1/appstore/info":
        return json({ version, hash, last_updated, ...info });
      case "/api/v1/applications/info": {
        const { app_ids: ids } = await request.json<{ app_ids: string[] }>();
        const apps = Object.fromEntries(ids.map((id) => [id, details[id]]));
        return json({ version, apps, not_found: ids.filter((id) => !(id in details)) });
      }
    }
    const chart = charts[url.searchParams.get("fileName") ?? ""];
    if (chart === undefined) return json({ error: "not found" });
    const bytes = Uint8Array.from(atob(chart), (char) => char.charCodeAt(0));
    return new Response(bytes, { headers: { "content-type": "application/gzip" } });
  },
};
