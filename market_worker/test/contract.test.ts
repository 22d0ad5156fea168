import { describe, expect, it } from "vitest";
import { decodes, detailDecodes } from "../src/contract";
import { record } from "./market";

function faults(file: string, value: unknown): string[] {
  const found: string[] = [];
  decodes(file, value, file, found);
  return found;
}

describe("an answer", () => {
  it("of the recorded market decodes", () => {
    const answers = Object.entries(record.objects).filter(([key]) => /\/[a-z]+\.json$/.test(key));
    expect(answers.length).toBeGreaterThan(10);
    for (const [key, text] of answers) {
      expect(faults(key.split("/").at(-1) ?? "", JSON.parse(String(text)))).toEqual([]);
    }
  });

  it.each([
    ["hash.json", { hash: 7 }, "hash.json.hash is 7, expected a string"],
    ["hash.json", [], "hash.json is [], expected an object"],
    ["info.json", { data: { latest: {} } }, "info.json.data.latest is {}, expected a list"],
    ["info.json", { data: { tags: [] } }, "info.json.data.tags is [], expected an object"],
    ["info.json", { Last_Updated: "2026-05-21" }, "expected an RFC 3339 time"],
    ["info.json", { data: { tops: [{ rank: "1" }] } }, 'tops[0].rank is "1", expected a whole number'],
    ["applications.json", { has_more: "no" }, "expected true or false"],
    ["applications.json", { total: 1.5 }, "expected a whole number"],
  ])("%s with %o does not", (file, value, fault) => {
    expect(faults(file, value).join()).toContain(fault);
  });

  it("takes null, absence and unknown fields as Go does", () => {
    expect(faults("info.json", { hash: null, data: { apps: null }, more: 1 })).toEqual([]);
  });
});

describe("a detail", () => {
  it.each([
    [{ categories: "AI" }, "categories is"],
    [{ version: "1.0.0-very-long-version" }, "characters, limit 16"],
    [{ appLabels: ["Suspend"] }, "devices skip it"],
    [{ title: "a\u0000b" }, "NUL"],
    [{ name: "other" }, "expected 'demo'"],
  ])("with %o is refused", (fields, fault) => {
    const found: string[] = [];
    detailDecodes({ name: "demo", ...fields }, { name: "demo" }, "detail", found);
    expect(found.join()).toContain(fault);
  });
});
