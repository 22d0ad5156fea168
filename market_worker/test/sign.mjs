/**
 * Sign claims as an identity provider does, with a new RSA key.
 *
 *     node test/sign.mjs '[{"iss": "..."}, ...]'
 *
 * Prints one JSON line: the provider's public keys, and a token for each of the claims.
 */
import { generateKeyPairSync, sign } from "node:crypto";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const tokens = JSON.parse(process.argv[2]).map((claims) => {
  const text = `${encode({ alg: "RS256", typ: "JWT", kid: "test" })}.${encode(claims)}`;
  return `${text}.${sign("sha256", Buffer.from(text), privateKey).toString("base64url")}`;
});
const key = { ...publicKey.export({ format: "jwk" }), kid: "test", alg: "RS256", use: "sig" };
console.log(JSON.stringify({ keys: { keys: [key] }, tokens }));
