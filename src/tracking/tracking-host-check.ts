/**
 * Whether a customer's own tracking name works from outside: DNS may lead to us while the proxy in front has no certificate for the name, and
 * then every link in the mail would be broken. The name is asked for what only we can answer. Never a redirect, never a private address.
 */
import type { HttpClient } from '#src/net/http-client.ts'
import type { Encryption } from '#src/crypto/encryption.ts'

/** Below the name; answers `{data: {proof}}`. */
export const TRACKING_HOST_PATH = '/tracking-name'
const TIMEOUT_MS = 10_000
const MAX_BYTES = 4096

export function trackingHostProof(encryption: Pick<Encryption, 'mac'>, host: string): string {
  return encryption.mac('tracking-name', host.toLowerCase()).toString('base64url')
}

interface HostCheckDeps {
  readonly outgoing: HttpClient
  readonly encryption: Pick<Encryption, 'mac'>
}

/** Null when it works; else a sentence that says why not. `base` as in the links. */
export async function checkTrackingHost({ outgoing, encryption }: HostCheckDeps, base: string): Promise<string | null> {
  const { hostname } = new URL(base)
  const request = { headers: { accept: 'application/json' }, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES }
  const response = await outgoing.get(`${base}${TRACKING_HOST_PATH}?domain=${hostname}`, request)
  if (!response.ok)
    return `${base} cannot be reached (${response.detail}). Its certificate is the operator's to set up (docs/guides/open-and-click-tracking.md).`
  if (response.body.includes(`"${trackingHostProof(encryption, hostname)}"`)) return null
  return `${base} does not lead to this service: it answered with status ${response.status}.`
}
