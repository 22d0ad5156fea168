/** Counts how often a request asks R2, in the header x-r2-operations; see scripts/start.mjs. */
import worker from "./index.js";

export default {
  async fetch(request, env, context) {
    let operations = 0;
    const MARKET = new Proxy(env.MARKET, {
      get(bucket, name) {
        const member = Reflect.get(bucket, name);
        if (typeof member !== "function") return member;
        return (...sent) => {
          operations += 1;
          return member.apply(bucket, sent);
        };
      },
    });
    const response = await worker.fetch(request, { ...env, MARKET }, context);
    const counted = new Response(response.body, response);
    counted.headers.set("x-r2-operations", String(operations));
    return counted;
  },
};
