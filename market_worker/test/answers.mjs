/**
 * Make the answers of revisions as the Worker does: one revision a line on stdin, as JSON; one
 * object a line on stdout, from path to text, with the revision's hash under "hash".
 *
 *     node test/answers.mjs DOCUMENTS.mjs
 *
 * DOCUMENTS.mjs is src/documents.ts as esbuild bundles it.
 */
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const made = await import(pathToFileURL(process.argv[2]).href);
for await (const line of createInterface({ input: process.stdin })) {
  const revision = JSON.parse(line);
  const answers = { "files.json": made.filesAnswer(revision) };
  const hashes = {};
  for (const set of made.setNames(revision)) {
    const seen = made.view(revision, set);
    hashes[set] = await made.hashOf(seen);
    Object.assign(answers, Object.fromEntries(made.answersOf(seen, hashes[set])));
  }
  answers.hash = await made.sha256(made.encode(made.canonical(hashes)));
  process.stdout.write(`${JSON.stringify(answers)}\n`);
}
