/**
 * Validates the URL of an endpoint, as far as possible without a connection, to report URLs that can never work. Host
 * names are checked again by their addresses at every connection (src/net/http-client.ts).
 */
import { isIP } from 'node:net'
import type { Network } from '#config/settings/readers.ts'
import { isReachable } from '#src/net/address-policy.ts'
import { hostOf } from '#src/net/http-client.ts'

const MAX_LENGTH = 2048

/** The problem as a sentence, or null. */
export function validateTargetUrl(address: string, allowed: readonly Network[]): string | null {
  if (address.length > MAX_LENGTH) return `must be at most ${MAX_LENGTH} characters long`
  const url = /^https?:\/\/[^/\\?#]/i.test(address) ? URL.parse(address) : null
  if (url === null || /[\s\0]/.test(address)) return 'must be an address that starts with https:// or http://'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password'
  if (url.hash !== '') return 'must not contain a fragment (#)'
  const host = hostOf(url)
  const address4or6 = /^(.*\.)?localhost\.?$/.test(host) ? '127.0.0.1' : host
  if (isIP(address4or6) !== 0 && !isReachable(address4or6, allowed))
    return (
      'must not be a private, loopback or reserved address ' +
      '(the operator can allow networks with ALLOW_PRIVATE_TARGETS)'
    )
  return null
}
