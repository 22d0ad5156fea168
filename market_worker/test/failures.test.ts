import { describe, expect, it } from "vitest";
import { addressOf } from "../src/failures";

function network(address: string): string {
  return addressOf(new Request("https://m/", { headers: { "cf-connecting-ip": address } }));
}

/** Return every text of an address, given as eight numbers, that leaves out one run of zeros. */
function spellings(groups: readonly number[]): string[] {
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(":");
  const long = groups.map((group) => group.toString(16).toUpperCase().padStart(4, "0")).join(":");
  const found = [hex(groups), long];
  for (let from = 0; from < groups.length; from += 1) {
    for (let to = from + 1; to <= groups.length; to += 1) {
      if (groups.slice(from, to).some((group) => group !== 0)) break;
      found.push(`${hex(groups.slice(0, from))}::${hex(groups.slice(to))}`);
    }
  }
  return found;
}

describe("failed attempts", () => {
  it("count for the /64 of an IPv6 address, however it is written", () => {
    // Every pattern of zeros: bit n of the number says whether group n is one.
    for (let pattern = 0; pattern < 256; pattern += 1) {
      const groups = Array.from({ length: 8 }, (_, n) => ((pattern >> n) & 1) * (0x2001 + n));
      const expected = groups.slice(0, 4).map((group) => group.toString(16)).join(":");
      for (const text of spellings(groups)) expect([text, network(text)]).toEqual([text, expected]);
    }
  });

  it("count for an IPv4 address as a whole, also for one in an IPv6 address", () => {
    for (const text of ["192.0.2.7", "::ffff:192.0.2.7", "::FFFF:192.0.2.7"]) {
      expect(network(text)).toBe("192.0.2.7");
    }
  });

  it("without an address count together", () => {
    expect(addressOf(new Request("https://m/"))).toBe("");
  });
});
