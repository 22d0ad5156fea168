/**
 * Do the prepared answers of a revision belong to it? Those for devices follow from the revision
 * to the byte, so each is made once more and compared by its digest. The pages for people are
 * their publisher's: examined is where they are served, as what, and under which policy.
 */

import type { Changes } from "./app";
import { type Bytes, encode, sha256 } from "./bytes";
import { setNames, view } from "./catalogue";
import { answersOf, devicePaths, filesAnswer, filesOf, hashOf } from "./documents";
import { canonical, same } from "./json";
import { FILES, PAGES, PAGE_ROUTES, type Revision, answerKey } from "./records";
import { prove, strict } from "./storage";

/** A part of an examination that one request can do: `cost` is how often it asks R2 at most. */
export interface Part {
  readonly name: string;
  readonly cost: number;
  readonly run: () => Promise<void>;
}

const HTML = "text/html; charset=utf-8";
const PICTURE = /^image\/(?:png|webp)$/;
const PICTURE_POLICY = "default-src 'none'";
const SOURCE = "'sha256-[A-Za-z0-9+/]{43}='";
/** One style and one script, each named by its digest; nothing from elsewhere. */
const PAGE_POLICY = new RegExp(
  `^default-src 'none'; style-src ${SOURCE}; script-src ${SOURCE}; img-src 'self' data:; ` +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'$",
);
const DIFFER = "the olapps of the publisher and this Worker differ, update the older one";

/**
 * Return the checks of the answers of a revision; they add what is wrong to `problems`, and note
 * in `changes` when a page has a policy that no page of `live` has.
 */
export function answerParts(
  bucket: R2Bucket,
  identity: string,
  revision: Revision,
  live: Revision | null,
  changes: Changes,
  problems: string[],
): Part[] {
  const pages = pagesOf(revision);
  const paths = [...devicePaths(revision), ...pages];
  if (!same(paths.sort(), Object.keys(revision.answers).sort())) {
    problems.push("the answers are not those of its generations");
    return [];
  }
  // Not from memory: an answer of an older revision may have the same bytes under another key.
  const body = (path: string): Promise<Bytes> =>
    prove(bucket, answerKey(identity, path), revision.answers[path] ?? "", "prepared answer");
  const belongs = async (path: string, text: string): Promise<void> => {
    if ((await sha256(encode(text))) === revision.answers[path]) await body(path);
    else problems.push(`${path} is not what the revision says: ${DIFFER}`);
  };
  const sets = setNames(revision).map((set) => {
    const seen = view(revision, set);
    let made: Promise<string> | null = null;
    return { set, seen, hash: (): Promise<string> => (made ??= hashOf(seen)) };
  });
  return [
    {
      name: "files",
      cost: 1 + pages.length,
      run: async () => {
        const all = await Promise.all(sets.map(async ({ set, hash }) => [set, await hash()]));
        if ((await sha256(encode(canonical(Object.fromEntries(all))))) !== revision.hash) {
          problems.push(`its hash is not that of what devices see: ${DIFFER}`);
        }
        const [, routes] = await Promise.all([
          belongs(FILES, filesAnswer(revision)),
          ...pages.map(body),
        ]);
        if (routes) checkRoutes(revision, live, strict(routes, PAGE_ROUTES), changes, problems);
      },
    },
    ...sets.map(({ set, seen, hash }) => ({
      name: `set ${set}`,
      cost: filesOf(set).length,
      run: async () => {
        const answers = answersOf(seen, await hash());
        await Promise.all([...answers].map(([path, text]) => belongs(path, text)));
      },
    })),
  ];
}

/** Policies of the pages that people see now: an entry that nobody sees vouches for nothing. */
export function knownPolicies(live: Revision | null): ReadonlySet<string> {
  const shown = Object.values(live?.apps ?? {}).filter((app) => app.state !== "removed");
  return new Set(shown.flatMap((app) => app.page?.csp ?? []));
}

function pagesOf(revision: Revision): readonly string[] {
  return Object.values(revision.apps).some((app) => app.page && app.state !== "removed") ? PAGES : [];
}

/** What is served to people is a page or picture of an app that is shown, under its own path only. */
function checkRoutes(
  revision: Revision,
  live: Revision | null,
  document: unknown,
  changes: Changes,
  problems: string[],
): void {
  const { routes = {} } = (document ?? {}) as { readonly routes?: Readonly<Record<string, unknown>> };
  const expected: Record<string, Readonly<Record<string, unknown>>> = {
    "/": { answer: PAGES[1], type: HTML },
    "/leaderboard": { answer: PAGES[2], type: HTML },
  };
  for (const [name, { page, state }] of Object.entries(revision.apps)) {
    if (!page || state === "removed") continue;
    expected[`/apps/${name}`] = { blob: page.html.sha256, type: HTML, csp: page.csp };
    const { sha256: blob, type } = page.share;
    if (!PICTURE.test(type)) problems.push(`the share image of ${name} has the type ${type}`);
    expected[`/share/${name}.png`] = { blob, type, csp: PICTURE_POLICY };
  }
  if (!same(Object.keys(expected).sort(), Object.keys(routes).sort())) {
    problems.push(`${PAGE_ROUTES} does not name the pages on offer`);
    return;
  }
  const known = knownPolicies(live);
  for (const [path, wanted] of Object.entries(expected)) {
    const route = (routes[path] ?? {}) as Readonly<Record<string, unknown>>;
    const { csp } = route;
    const strictly = typeof csp === "string" && (csp === wanted["csp"] || !("csp" in wanted));
    const form = wanted["type"] === HTML ? PAGE_POLICY : /^default-src 'none'$/;
    if (!strictly || !form.test(csp) || !same(route, { ...wanted, csp })) {
      problems.push(`${PAGE_ROUTES}: ${path} is not served as its app says, or not strictly`);
    } else if (wanted["type"] === HTML && !known.has(csp as string)) {
      changes.newPolicy = true;
    }
  }
}
