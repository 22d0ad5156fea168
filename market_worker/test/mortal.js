/**
 * Dies at a point between two writes, for the tests that kill a Worker; see scripts/start.mjs.
 *
 * A request with the header `x-die-at: N` arms it: of all writes that follow, the N-th point is
 * the last that is reached, and nothing is answered any more but 599 until the process is ended.
 * A write has a point before and one after it, a removal of several objects one between them. The
 * header `x-points-left` of an answer says how many there are still.
 */
import worker from "./index.js";

let left = Number.POSITIVE_INFINITY;
let die = () => {};
const dead = new Promise((resolve) => {
  die = resolve;
});
const forEver = new Promise(() => {});

async function point() {
  left -= 1;
  if (left >= 0) return;
  die();
  await forEver;
}

function mortal(bucket, name, member) {
  return async (...sent) => {
    const [keys] = sent;
    await point();
    if (name === "delete" && Array.isArray(keys) && keys.length > 1) {
      const half = Math.ceil(keys.length / 2);
      await bucket.delete(keys.slice(0, half));
      await point();
      sent = [keys.slice(half)];
    }
    const result = await member.apply(bucket, sent);
    await point();
    return result;
  };
}

export default {
  async fetch(request, env, context) {
    const armed = request.headers.get("x-die-at");
    if (armed !== null) left = Number(armed);
    const MARKET = new Proxy(env.MARKET, {
      get(bucket, name) {
        const member = Reflect.get(bucket, name);
        if (typeof member !== "function") return member;
        return name === "put" || name === "delete" ? mortal(bucket, name, member) : member.bind(bucket);
      },
    });
    const answer = Promise.resolve(worker.fetch(request, { ...env, MARKET }, context));
    const counted = answer.then((given) => {
      const response = new Response(given.body, given);
      response.headers.set("x-points-left", String(left));
      return response;
    });
    return Promise.race([dead.then(() => new Response("dead", { status: 599 })), counted]);
  },
};
