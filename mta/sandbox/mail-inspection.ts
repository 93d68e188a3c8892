/**
 * Inspects a captured mail: its message id, From and Subject, and the DKIM result of each signature. mailauth verifies
 * the signatures with the keys that the sandbox DNS publishes. An unparsable mail is accepted too; unknown fields are
 * null. The verifier is large, so the first mail loads it: outside sandbox mode there may be none.
 * Mail of one burst has the same keys, so an answer of the DNS is used for a second; a failed lookup is repeated.
 */
import { Resolver } from 'node:dns/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import { systemClock } from '#src/platform/clock.ts'
import { idOfHex } from '#src/platform/id.ts'
import { parseMailbox, splitMailboxes } from '#src/mail/address.ts'
import { decodedMailbox, fieldText, valueOf } from '#src/mail/field-value.ts'
import { decodeHeaderText } from '#src/mail/header-text.ts'
import { splitMessage, type HeaderField } from '#src/mail/split-message.ts'
import { parseReturnPath, type Mac } from '#src/mail/verp.ts'
import type { DkimResult, CapturedMail } from '#src/sandbox/inbox.ts'

export type MailInspection = Pick<CapturedMail, 'headerFrom' | 'subject' | 'messageId' | 'dkim'>

export interface MailInspector {
  inspect(raw: Buffer, mailFrom: string): Promise<MailInspection>
  stop(): void
}

/** Longer than any real header section; the rest is ignored. */
const MAX_HEADER_BYTES = 512 * 1024
const DNS_TIMEOUT_MS = 2000
const KEPT_ANSWERS = { max: 1000, ttlMs: 1000 }

type KeyLookup = (name: string, type: string) => Promise<string[][]>

export function createMailInspector(dnsPort: number, macs: readonly Mac[]): MailInspector {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 })
  resolver.setServers([`127.0.0.1:${dnsPort}`])
  const answers = createLoadingCache<string[][]>(systemClock, KEPT_ANSWERS)
  const lookUp: KeyLookup = (name, type) =>
    answers.get(`${type} ${name}`, () => resolver.resolve(name, type) as Promise<string[][]>)
  const inspect = async (raw: Buffer, mailFrom: string): Promise<MailInspection> => {
    const { fields } = splitMessage(raw.subarray(0, MAX_HEADER_BYTES))
    const field = (name: string): HeaderField | undefined => fields.find((one) => one.name === name)
    const [from, subject, messageId] = [field('from'), field('subject'), field('message-id')]
    return {
      headerFrom: from === undefined ? null : readableMailboxes(from),
      subject: subject === undefined ? null : decodeHeaderText(valueOf(subject)),
      messageId: parseReturnPath(mailFrom, macs)?.messageId ?? parseMessageId(messageId),
      dkim: await verifySignatures(raw, lookUp),
    }
  }
  return { inspect, stop: () => resolver.cancel() }
}

/** `"Name" <address>` for each mailbox. A field with an invalid one is only decoded. */
function readableMailboxes(field: HeaderField): string {
  const readable: string[] = []
  for (const piece of splitMailboxes(fieldText(field))) {
    const parsed = parseMailbox(piece)
    if (!parsed.ok) return decodeHeaderText(valueOf(field))
    const { name, email } = decodedMailbox(parsed.mailbox)
    readable.push(name === null ? email : `"${name}" <${email}>`)
  }
  return readable.join(', ')
}

/** The local part of our Message-ID is the message id (a UUIDv7) in hex. */
function parseMessageId(field: HeaderField | undefined): string | null {
  const hex = /:\s*<(0[1-9a-f][0-9a-f]{10}7[0-9a-f]{19})@/.exec(field?.line ?? '')?.[1]
  return hex === undefined ? null : idOfHex(hex)
}

/** Returns one result for each signature. */
async function verifySignatures(raw: Buffer, lookUp: KeyLookup): Promise<DkimResult[]> {
  const { DkimVerifier } = await import('mailauth/lib/dkim/dkim-verifier.js')
  const verifier = new DkimVerifier({ strict: true, resolver: lookUp })
  try {
    verifier.end(raw)
    await finished(verifier)
    return verifier.results
      .filter(({ status }) => status.result !== 'none')
      .map(({ signingDomain, selector, algo, status }) => ({
        domain: signingDomain ?? '',
        selector: selector ?? '',
        algorithm: algo ?? '',
        result: status.result,
        comment: status.comment ?? null,
      }))
  } catch (error) {
    return [
      {
        domain: '',
        selector: '',
        algorithm: '',
        result: 'permerror',
        comment: error instanceof Error ? error.message : String(error),
      },
    ]
  } finally {
    empty(verifier)
  }
}

/**
 * Node assigns a function to each stream that can be written, which holds the stream in memory until the next full
 * collection (docs/decisions/125). The verifier is one, and refers to the mail, so the mail is taken from it. What Node
 * itself added begins with "_".
 */
function empty(verifier: Writable): void {
  for (const key of Object.keys(verifier)) if (!key.startsWith('_')) Reflect.set(verifier, key, undefined)
}
