/**
 * Codes of authenticator apps: TOTP (RFC 6238) with SHA-1, six digits and 30 seconds, the only values that every app
 * supports. One step before and after is accepted, for clocks that differ. A code names its step, and a step that was
 * used is not accepted again (RFC 6238 §5.2).
 */
import { Secret, TOTP } from 'otpauth'

const SETTINGS = { algorithm: 'SHA1', digits: 6, period: 30 } as const
const WINDOW = 1
/** RFC 4226 §4 recommends 160 bits. */
const SECRET_BYTES = 20

/** In base32, as people type it. */
export function newTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32
}

/** What an app reads as a QR code. */
export function totpUri(
  secret: string,
  { issuer, email }: { readonly issuer: string; readonly email: string },
): string {
  return totpOf(secret, { issuer, label: email }).toString()
}

/** The step of a code; null if it is wrong. */
export function stepOfCode(secret: string, code: string, nowMs: number): number | null {
  const totp = totpOf(secret)
  const delta = totp.validate({ token: code, timestamp: nowMs, window: WINDOW })
  return delta === null ? null : totp.counter({ timestamp: nowMs }) + delta
}

function totpOf(secret: string, names: { readonly issuer?: string; readonly label?: string } = {}): TOTP {
  return new TOTP({ ...SETTINGS, ...names, secret: Secret.fromBase32(secret) })
}
