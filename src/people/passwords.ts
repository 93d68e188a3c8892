/**
 * Passwords of local accounts: argon2id of OpenSSL, which Node contains (RFC 9106), in the PHC string format. The
 * parameters are those that OWASP recommends: 19 MiB, 2 passes, 1 lane. A hash with other parameters is still verified,
 * and it is replaced at the next login. Hashing runs in threads, at most two at a time, since the same threads serve
 * files and DNS; when many wait, the caller is refused instead of waiting longer. Nothing is stored here.
 */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { createSemaphore } from '#src/concurrency/semaphore.ts'

const hashBytes = promisify(argon2)

interface HashParameters {
  /** KiB. */
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

const PARAMETERS: HashParameters = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
const MAX_WAITING = 32
const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/

const inTurn = createSemaphore(2, MAX_WAITING)

export const MIN_PASSWORD = 12
export const MAX_PASSWORD = 200

/** Null if too many passwords are being hashed. */
export async function hashPassword(password: string): Promise<string | null> {
  const salt = randomBytes(SALT_BYTES)
  const hashed = await inTurn(() => derive(password, salt, PARAMETERS))
  return hashed === null ? null : formatHash(salt, hashed)
}

export type PasswordCheck =
  /** `isOutdated`: hash it again with the present parameters. */
  | { readonly kind: 'right'; readonly isOutdated: boolean }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'overloaded' }

/** Takes as long for `stored` = null, which is a user without a password, as for a wrong password. */
export async function checkPassword(password: string, stored: string | null): Promise<PasswordCheck> {
  const { salt, expected, ...parameters } = parseHash(stored ?? UNKNOWN_USER)
  const given = await inTurn(() => derive(password, salt, parameters))
  if (given === null) return { kind: 'overloaded' }
  if (!timingSafeEqual(given, expected) || stored === null) return { kind: 'wrong' }
  return { kind: 'right', isOutdated: !stored.startsWith(PREFIX) }
}

/** Why a password is refused; null if it is accepted. Length is what counts (NIST SP 800-63B §3.1.1). */
export function findPasswordProblem(password: string, { email }: { readonly email: string }): string | null {
  const { length } = password
  if (length < MIN_PASSWORD) return `must have at least ${MIN_PASSWORD} characters`
  if (length > MAX_PASSWORD) return `must have at most ${MAX_PASSWORD} characters`
  if (/\p{Cc}/u.test(password)) return 'contains a control character'
  if (new Set(password).size < 4) return 'repeats the same characters'
  const [local = ''] = email.split('@')
  const plain = password.toLowerCase()
  return plain === email || plain === local ? 'is your email address' : null
}

/** The same characters on every keyboard and system. */
function derive(password: string, salt: Buffer, { memory, passes, parallelism }: HashParameters): Promise<Buffer> {
  const message = Buffer.from(password.normalize('NFKC'))
  return hashBytes('argon2id', { message, nonce: salt, memory, passes, parallelism, tagLength: HASH_BYTES })
}

const PREFIX = `$argon2id$v=19$m=${PARAMETERS.memory},t=${PARAMETERS.passes},p=${PARAMETERS.parallelism}$`

function formatHash(salt: Buffer, hashed: Buffer): string {
  const encode = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')
  return `${PREFIX}${encode(salt)}$${encode(hashed)}`
}

interface ParsedHash extends HashParameters {
  readonly salt: Buffer
  readonly expected: Buffer
}

function parseHash(text: string): ParsedHash {
  const [, memory, passes, parallelism, salt = '', expected = ''] = PHC.exec(text) ?? []
  if (memory === undefined) throw new Error('a stored password is not an argon2id hash')
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    expected: Buffer.from(expected, 'base64'),
  }
}

/** What an unknown user's password is compared with. */
const UNKNOWN_USER = formatHash(randomBytes(SALT_BYTES), randomBytes(HASH_BYTES))
