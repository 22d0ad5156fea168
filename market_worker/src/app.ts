/**
 * What must hold of an app that a revision changes: versions only rise, the ledger only grows,
 * and what is new exists, has its size and decodes. What the live revision has as well was
 * examined when that went live.
 */

import { type Part } from "./agreement";
import { encode } from "./bytes";
import { detailDecodes } from "./contract";
import { LIMITS } from "./env";
import { same } from "./json";
import {
  type App,
  type Archive,
  LEDGER,
  type Ledger,
  type Revision,
  type StoredFile,
  archiveName,
  blobKey,
} from "./records";
import { compare, parseVersion } from "./releases";
import { Damaged, prove, strict } from "./storage";
import { milliseconds } from "./succession";

/** What a publish does, by which a token allows it or not. */
export interface Changes {
  /** Whether there is a new archive. */
  adds: boolean;
  /** Whether an offer of the live revision ends, or generations are drawn anew. */
  takesAway: boolean;
  /** Whether a page has a policy, and so a script, that no page of the live revision has. */
  newPolicy: boolean;
}

/** When what is new was published, in ms: after the live revision, not after the new one. */
interface Span {
  readonly after: number;
  readonly until: number;
}

function spanOf(next: Revision, live: Revision | null): Span {
  const after = live ? milliseconds(live.created) : Number.NEGATIVE_INFINITY;
  return { after, until: milliseconds(next.created) };
}

const SIGNATURE_BYTES = 12;
const ICONS: Readonly<Record<string, RegExp>> = {
  "image/png": /^\x89PNG\r\n\x1a\n/,
  "image/webp": /^RIFF[^]{4}WEBP/,
};

/** Return the check of one app; it adds what is wrong to `problems`, what it does to `changes`. */
export function appPart(
  bucket: R2Bucket,
  name: string,
  next: Revision,
  live: Revision | null,
  changes: Changes,
  problems: string[],
): Part | null {
  const app = next.apps[name];
  if (!app) return null;
  const old = live && Object.hasOwn(live.apps, name) ? live.apps[name] : undefined;
  // Both ledgers, the file and the detail of each archive, the icon and what a page is made of.
  const cost = 3 + 2 * Object.keys(app.current).length + pageBlobs(app, old).length;
  return {
    name: `app ${name}`,
    cost,
    run: () => checkApp(bucket, name, app, old, spanOf(next, live), changes, problems),
  };
}

async function checkApp(
  bucket: R2Bucket,
  name: string,
  app: App,
  old: App | undefined,
  span: Span,
  changes: Changes,
  problems: string[],
): Promise<void> {
  const entryBytes = encode(JSON.stringify(app)).length;
  if (entryBytes > LIMITS.entryBytes) {
    problems.push(`${name}: its entry has ${entryBytes} bytes, limit ${LIMITS.entryBytes}`);
  }
  if (app.id !== (await appId(name))) problems.push(`${name}: the id ${app.id} is not its md5`);
  checkVersions(name, app, old, problems);
  if (old?.state === "live" && lost(old, app)) changes.takesAway = true;
  if (old?.state === "listed" && app.state === "removed") changes.takesAway = true;
  const known = old ? await readLedger(bucket, old, name) : { app: name, charts: {} };
  const ledger = old?.ledger === app.ledger ? known : await readLedger(bucket, app, name);
  checkLedger(name, app, old, known, ledger, span, problems);
  for (const archive of Object.values(app.current)) {
    const file = archiveName(name, archive.version);
    if (!Object.hasOwn(known.charts, file)) changes.adds = true;
    else if (!offeredBefore(archive, old)) changes.takesAway = true;
  }
  // Only what is offered: what else a ledger adds is refused, so nobody can make this long.
  const added = Object.values(app.current).filter(
    ({ version }) => !Object.hasOwn(known.charts, archiveName(name, version)),
  );
  await Promise.all([
    ...added.map((archive) => blobExists(bucket, archive, archiveName(name, archive.version), problems)),
    ...added.map((archive) => checkDetail(bucket, name, app, archive, problems)),
    app.icon && !same(app.icon, old?.icon) ? iconExists(bucket, name, app.icon, problems) : null,
    ...pageBlobs(app, old).map((blob) => blobExists(bucket, blob, `page of ${name}`, problems)),
  ]);
}

async function checkDetail(
  bucket: R2Bucket,
  name: string,
  app: App,
  { version, detail, card }: Archive,
  problems: string[],
): Promise<void> {
  const file = archiveName(name, version);
  const what = `detail of ${file}`;
  const body = await prove(bucket, blobKey(detail), detail, what);
  if (body.length > LIMITS.detailBytes) {
    problems.push(`${what} has ${body.length} bytes, limit ${LIMITS.detailBytes}`);
    return;
  }
  const document = strict(body, what);
  const expected = { id: app.id, appID: app.id, name, version, chartName: file, title: app.title };
  detailDecodes(document, expected, what, problems);
  const told = (document ?? {}) as Readonly<Record<string, unknown>>;
  const shown = {
    description: told["description"],
    icon: told["icon"],
    categories: told["categories"],
    cfg_type: told["cfgType"],
    featured_image: told["featuredImage"] ?? "",
    labels: told["appLabels"] ?? [],
  };
  if (!same(card, shown)) problems.push(`${what} is not what the lists show of it`);
}

/** Say whether a generation's offer ended, or an app was removed. */
function lost(old: App, app: App): boolean {
  return Object.keys(old.current).some((generation) => !Object.hasOwn(app.current, generation));
}

function offeredBefore(archive: Archive, old: App | undefined): boolean {
  return Object.values(old?.current ?? {}).some((known) => same(known, archive));
}

function checkVersions(
  name: string,
  app: App,
  old: App | undefined,
  problems: string[],
): void {
  const greatest = parseVersion(app.greatest);
  // An app that never had a version has none that is the greatest.
  const unversioned = app.greatest === "" && !old?.greatest && app.state !== "live";
  if (!greatest && !unversioned) problems.push(`${name}: greatest is '${app.greatest}', no version`);
  const before = old && parseVersion(old.greatest);
  if (greatest && before && compare(greatest, before) < 0) {
    problems.push(`${name}: greatest went down from ${old.greatest} to ${app.greatest}`);
  }
  for (const archive of Object.values(app.current)) {
    const version = parseVersion(archive.version);
    if (!version) problems.push(`${name}: '${archive.version}' is no version`);
    else if (greatest && compare(version, greatest) > 0) {
      problems.push(`${name} ${archive.version} is above its greatest ${app.greatest}`);
    }
  }
  if ((app.state === "live") !== Object.keys(app.current).length > 0) {
    problems.push(`${name} is ${app.state} with ${Object.keys(app.current).length} archives`);
  }
  if (app.state === "listed" && !app.page) problems.push(`${name} is listed without a page`);
}

/** A ledger only grows, by versions above every one that the app ever had. */
function checkLedger(
  name: string,
  app: App,
  old: App | undefined,
  known: Ledger,
  ledger: Ledger,
  span: Span,
  problems: string[],
): void {
  const before = old && parseVersion(old.greatest);
  for (const [file, archive] of Object.entries(known.charts)) {
    const now = Object.hasOwn(ledger.charts, file) ? ledger.charts[file] : undefined;
    if (!same(now, archive)) {
      problems.push(
        now && now.sha256 !== archive.sha256
          ? `${file} is published with sha256 ${archive.sha256}, now it is ${now.sha256}`
          : `${file} is no longer in the ledger as it was`,
      );
    }
  }
  for (const [file, archive] of Object.entries(ledger.charts)) {
    if (Object.hasOwn(known.charts, file)) continue;
    const version = parseVersion(archive.version);
    if (file !== archiveName(name, archive.version)) problems.push(`${file} is misnamed`);
    if (!version) problems.push(`${name}: '${archive.version}' is no version`);
    else if (before && compare(version, before) <= 0) {
      problems.push(`${name} ${archive.version} is not greater than published ${old.greatest}`);
    }
    if (archive.published <= span.after || archive.published > span.until) {
      problems.push(`${file}: published is ${archive.published}, not when its revision was made`);
    }
    // Where a copy begins, the history of its source comes along.
    const past = span.after === Number.NEGATIVE_INFINITY;
    if (!past && !Object.values(app.current).some((offered) => offered.version === archive.version)) {
      problems.push(`${file} is new in the ledger and not on offer`);
    }
  }
  const kept = app.greatest === (old?.greatest ?? "");
  if (!kept && !Object.hasOwn(ledger.charts, archiveName(name, app.greatest))) {
    problems.push(`${name}: greatest is ${app.greatest}, which was never published`);
  }
  for (const [generation, archive] of Object.entries(app.current)) {
    const file = archiveName(name, archive.version);
    const listed = Object.hasOwn(ledger.charts, file) ? ledger.charts[file] : undefined;
    if (!same(listed, { generation, ...archive })) {
      problems.push(`${file} is offered and not in the ledger`);
    }
  }
}

async function readLedger(bucket: R2Bucket, app: App, name: string): Promise<Ledger> {
  const what = `ledger of ${name}`;
  const ledger = strict<Ledger>(await prove(bucket, blobKey(app.ledger), app.ledger, what), what);
  const faults: string[] = [];
  LEDGER(ledger, what, faults);
  if (faults[0] !== undefined) throw new Damaged(faults[0]);
  if (ledger.app !== name) throw new Damaged(`the ${what} is that of ${ledger.app}`);
  return ledger;
}

/** An icon is PNG or WebP by its type and by its first bytes: an SVG could carry a script. */
async function iconExists(
  bucket: R2Bucket,
  name: string,
  icon: StoredFile,
  problems: string[],
): Promise<void> {
  const what = `icon of ${name}`;
  const object = await bucket.get(blobKey(icon.sha256), { range: { offset: 0, length: SIGNATURE_BYTES } });
  if (!object) {
    problems.push(`${what}: ${blobKey(icon.sha256)} is missing`);
    return;
  }
  const signature = String.fromCharCode(...new Uint8Array(await object.arrayBuffer()));
  const form = Object.hasOwn(ICONS, icon.type) ? ICONS[icon.type] : undefined;
  if (!form?.test(signature)) problems.push(`${what} is no PNG or WebP of type ${icon.type}`);
  if (object.size > LIMITS.iconBytes) {
    problems.push(`${what} has ${object.size} bytes, limit ${LIMITS.iconBytes}`);
  }
  if (object.size !== icon.size) {
    problems.push(`${what} has ${object.size} bytes, the catalogue says ${icon.size}`);
  }
}

/** Return what the page of an app is made of, as far as the live revision has other blobs. */
function pageBlobs(
  { page }: App,
  old: App | undefined,
): readonly { readonly sha256: string; readonly size?: number }[] {
  if (!page) return [];
  const known = new Set([old?.page?.facts, old?.page?.html.sha256, old?.page?.share.sha256]);
  const blobs = [page.html, page.share, { sha256: page.facts }];
  return blobs.filter(({ sha256 }) => !known.has(sha256));
}

/** Blobs were hashed when they came in: that one exists, with its size, is enough. */
async function blobExists(
  bucket: R2Bucket,
  blob: { readonly sha256: string; readonly size?: number },
  what: string,
  problems: string[],
): Promise<void> {
  const found = await bucket.head(blobKey(blob.sha256));
  if (!found) problems.push(`${what}: ${blobKey(blob.sha256)} is missing`);
  else if (blob.size !== undefined && found.size !== blob.size) {
    problems.push(`${what} has ${found.size} bytes, the catalogue says ${blob.size}`);
  }
}

/** The first 8 hex digits of the md5 of a name (contract 4). */
async function appId(name: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("MD5", encode(name)));
  return Array.from(digest.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
