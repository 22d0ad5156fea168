/** What a token may do, whichever way it is known. */

/**
 * `publish` moves apps up; `rollback` takes apps and versions away; `collect` removes what no kept
 * revision reaches.
 */
export const SCOPES = ["publish", "rollback", "collect"] as const;
export type Scope = (typeof SCOPES)[number];

export interface Token {
  /** Whose it is, for messages. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Starts of the names of the apps that it may change; without it every app. */
  readonly apps?: readonly string[];
  readonly expires: string;
}
