/**
 * Whether a customer's own tracking name works from outside: DNS may lead to us while the proxy in front has no certificate for the name, and
 * then every link in the mail would be broken. The name is asked for what only we can answer. Never a redirect, never a private address.
 */
import type { Outgoing } from '#src/net/http-client.ts'
import type { Vault } from '#src/crypto/encryption.ts'

/** Below the name; answers `{data: {proof}}`. */
export const NAME_PATH = '/tracking-name'
const TIMEOUT_MS = 10_000
const MAX_BYTES = 4096

export function proofOf(vault: Pick<Vault, 'mac'>, host: string): string {
  return vault.mac('tracking-name', host.toLowerCase()).toString('base64url')
}

interface Means {
  readonly outgoing: Outgoing
  readonly vault: Pick<Vault, 'mac'>
}

/** Null when it works; else a sentence that says why not. `base` as in the links. */
export async function probeName({ outgoing, vault }: Means, base: string): Promise<string | null> {
  const { hostname } = new URL(base)
  const question = { headers: { accept: 'application/json' }, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES }
  const answer = await outgoing.get(`${base}${NAME_PATH}?domain=${hostname}`, question)
  if (!answer.ok)
    return `${base} cannot be reached (${answer.detail}). Its certificate is the operator's to set up (docs/guides/open-and-click-tracking.md).`
  if (answer.body.includes(`"${proofOf(vault, hostname)}"`)) return null
  return `${base} does not lead to this service: it answered with status ${answer.status}.`
}
