/** The market as a Worker: lookups for devices, and the writes of the publish protocol. */

import { Hono } from "hono";
import { failure, preflight, refusal } from "./answers";
import { drain } from "./bytes";
import { type Env, LIMITS } from "./env";
import { PUBLISH, publish } from "./publish";
import { remembered, routes } from "./routes";
import { Damaged } from "./storage";

const app = new Hono<{ Bindings: Env }>();

app.use(async (c, next) => {
  await next();
  await drain(c.req.raw, LIMITS.drainedBytes);
});
// No other origin's script may write, so a preflight there gets no permission.
app.options("*", (c) =>
  c.req.path.startsWith(PUBLISH)
    ? refusal(405, { error: "method not allowed", message: "the publish API is for programs" })
    : preflight(),
);
app.route("/", routes);
app.route(PUBLISH, publish);
app.notFound((c) => failure(404, "not found", c.req.path));
app.onError((error, c) => {
  const writes = c.req.path.startsWith(PUBLISH);
  if (error instanceof Damaged) {
    const body = { error: "the market is damaged", message: error.message };
    return writes ? refusal(500, body) : failure(500, body.error, body.message);
  }
  // The message only: a request may carry a token, and nothing of it goes into a log.
  console.error(error.message);
  const body = { error: "temporarily unavailable", message: "the storage did not answer" };
  const headers = { "retry-after": "1" };
  return writes ? refusal(503, body, headers) : failure(503, body.error, body.message, headers);
});

export default {
  /** Most requests of devices repeat one of a few: those take no way through the routes. */
  fetch: (request: Request, env: Env, context?: ExecutionContext): Response | Promise<Response> =>
    remembered(request, env) ?? app.fetch(request, env, context),
};
