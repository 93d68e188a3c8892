/**
 * Random tokens of sessions, invitations and resets: 32 bytes in base64url, stored as SHA-256 only. 256 random bits
 * need no slow hash, and a lookup by hash tells nothing by its time.
 */
import { hash, randomBytes } from 'node:crypto'

const TOKEN = /^[A-Za-z0-9_-]{43}$/

export function newSecretToken(): string {
  return randomBytes(32).toString('base64url')
}

/** The 32 bytes that are stored; null for text that cannot be a token. */
export function hashSecretToken(text: string): Buffer | null {
  return TOKEN.test(text) ? hash('sha256', text, 'buffer') : null
}
