/**
 * Checks that a customer's tracking name works from outside: its DNS may point here while the proxy in front has no
 * certificate for it, which would break every link. It requests a proof that only this service can give. It follows no
 * redirects and connects to no private address.
 */
import type { HttpClient } from '#src/net/http-client.ts'
import type { DigestKeys, Encryption } from '#src/crypto/encryption.ts'

/** Path on the tracking name; its response is `{data: {proof}}`. */
export const TRACKING_HOST_PATH = '/tracking-name'
const TIMEOUT_MS = 10_000
const MAX_BYTES = 4096

export function trackingHostProof(keys: DigestKeys, host: string): string {
  return keys.mac('tracking-name', host.toLowerCase()).toString('base64url')
}

interface HostCheckDeps {
  readonly outgoing: HttpClient
  readonly encryption: Pick<Encryption, 'validKeys'>
}

/** Null if it works, else the reason. `base` as in the links. */
export async function checkTrackingHost({ outgoing, encryption }: HostCheckDeps, base: string): Promise<string | null> {
  const { hostname } = new URL(base)
  const request = { headers: { accept: 'application/json' }, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES }
  const response = await outgoing.get(`${base}${TRACKING_HOST_PATH}?domain=${hostname}`, request)
  if (!response.ok)
    return (
      `${base} cannot be reached (${response.detail}). ` +
      `Its certificate is the operator's to set up (docs/guides/open-and-click-tracking.md).`
    )
  const isProof = (keys: DigestKeys): boolean => response.body.includes(`"${trackingHostProof(keys, hostname)}"`)
  if (encryption.validKeys.some(isProof)) return null
  return `${base} does not lead to this service: it answered with status ${response.status}.`
}
