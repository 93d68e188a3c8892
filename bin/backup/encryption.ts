/**
 * Encrypts backups in the format of age, with the library of its author: chunks of 64 KB, each authenticated with its
 * position, the last one marked, so that a changed, reordered or cut file is an error. A backup is encrypted for public
 * keys, whose private keys need not be on this machine, or with a passphrase. Keys and passphrases are never logged.
 */
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { UserError } from '#bin/supervisor/user-error.ts'

/** Encrypts for all of the recipients, or with the passphrase. */
export type EncryptionKey = { readonly recipients: readonly string[] } | { readonly passphrase: string }

/** What may decrypt a backup. */
export interface DecryptionKeys {
  /** Private keys of age, `AGE-SECRET-KEY-1…`. */
  readonly identities: readonly string[]
  readonly passphrase: string | null
}

const MIN_PASSPHRASE = 12
const HEADER = 'age-encryption.org/'

/** @throws UserError for a recipient that is no key, or a passphrase that is too short. */
export async function encryptStream(plain: Readable, key: EncryptionKey): Promise<Readable> {
  const encrypter = new Encrypter()
  if ('passphrase' in key) encrypter.setPassphrase(checkPassphrase(key.passphrase))
  else for (const recipient of key.recipients) addRecipient(encrypter, recipient)
  const encrypted = await encrypter.encrypt(Readable.toWeb(plain) as ReadableStream<Uint8Array>)
  return Readable.fromWeb(encrypted as WebStream<Uint8Array>)
}

/** @throws UserError if no key decrypts it. */
export async function decryptStream(encrypted: Readable, keys: DecryptionKeys): Promise<Readable> {
  const decrypter = new Decrypter()
  for (const identity of keys.identities) decrypter.addIdentity(identity)
  if (keys.passphrase !== null) decrypter.addPassphrase(keys.passphrase)
  try {
    const plain = await decrypter.decrypt(Readable.toWeb(encrypted) as ReadableStream<Uint8Array>)
    return Readable.fromWeb(plain as WebStream<Uint8Array>)
  } catch (error) {
    encrypted.destroy()
    const reason = error instanceof Error ? error.message : String(error)
    throw /no identity/.test(reason)
      ? new UserError(
          'The backup is encrypted, and none of the given keys or passphrases decrypts it.',
          'Use --key-file or --passphrase-file.',
        )
      : new UserError(`The backup cannot be decrypted (${reason}).`, 'Copy it again, or use an earlier backup.')
  }
}

/** Whether a file that begins with these bytes is encrypted. */
export function isEncrypted(start: Buffer): boolean {
  return start.subarray(0, HEADER.length).toString('latin1') === HEADER
}

/** The text of a key file, as `age-keygen` writes it. */
export async function generateKeyFile(): Promise<{ readonly recipient: string; readonly text: string }> {
  const identity = await generateX25519Identity()
  const recipient = await identityToRecipient(identity)
  const text = `# created: ${new Date().toISOString()}\n# public key: ${recipient}\n${identity}\n`
  return { recipient, text }
}

/** The private keys in a key file. @throws UserError if there are none. */
export function readKeyFile(file: string): string[] {
  const lines = readSecret(file).split(/\r?\n/)
  const identities = lines.map((line) => line.trim()).filter((line) => line.startsWith('AGE-SECRET-KEY-'))
  if (identities.length === 0)
    throw new UserError(
      `${file} has no private key of age (AGE-SECRET-KEY-1…).`,
      'Make one: mailstead backup --new-key FILE, or age-keygen.',
    )
  return identities
}

/** @throws UserError if it cannot be read or is too short. */
export function readPassphraseFile(file: string): string {
  return checkPassphrase(readSecret(file).replace(/\r?\n$/, ''))
}

function readSecret(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UserError(
      `${file} cannot be read (${error instanceof Error ? error.message : String(error)}).`,
      'Check its name and its permissions.',
    )
  }
}

function checkPassphrase(passphrase: string): string {
  if (passphrase.length >= MIN_PASSPHRASE) return passphrase
  throw new UserError(
    `A passphrase for backups needs ${MIN_PASSPHRASE} characters or more.`,
    'Use a longer one, or a key file, which is safer: mailstead backup --new-key FILE.',
  )
}

function addRecipient(encrypter: Encrypter, recipient: string): void {
  try {
    encrypter.addRecipient(recipient)
  } catch {
    throw new UserError(
      `"${recipient.slice(0, 20)}" is no public key of age (age1…).`,
      'Make a pair of keys: mailstead backup --new-key FILE, or age-keygen.',
    )
  }
}
