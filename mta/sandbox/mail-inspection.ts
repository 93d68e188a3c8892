/**
 * Inspects a captured mail: its message id, From and Subject, and the DKIM result of each signature. mailauth verifies
 * the signatures with the keys that the sandbox DNS publishes. An unparsable mail is accepted too; unknown fields are
 * null. The parser and the verifier are large, so the first mail loads them: outside sandbox mode there may be none.
 * Mail of one burst has the same keys, so an answer of the DNS is used for a second; a failed lookup is repeated.
 */
import { Resolver } from 'node:dns/promises'
import type { ParsedMail } from 'mailparser'
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import { systemClock } from '#src/platform/clock.ts'
import { idOfHex } from '#src/platform/id.ts'
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
    const [headers, dkim] = await Promise.all([parseHeaders(raw), verifySignatures(raw, lookUp)])
    return {
      headerFrom: headers?.from?.text ?? null,
      subject: headers?.subject ?? null,
      messageId: parseReturnPath(mailFrom, macs)?.messageId ?? parseMessageId(headers?.messageId),
      dkim,
    }
  }
  return { inspect, stop: () => resolver.cancel() }
}

async function parseHeaders(raw: Buffer): Promise<ParsedMail | null> {
  const end = raw.indexOf('\r\n\r\n')
  const block = raw.subarray(0, Math.min(end < 0 ? raw.length : end + 4, MAX_HEADER_BYTES))
  const { simpleParser } = await import('mailparser')
  try {
    return await simpleParser(block, { skipHtmlToText: true, skipTextToHtml: true, skipTextLinks: true })
  } catch {
    return null
  }
}

/** The local part of our Message-ID is the message id (a UUIDv7) in hex. */
function parseMessageId(field: string | undefined): string | null {
  const hex = /^<(0[1-9a-f][0-9a-f]{10}7[0-9a-f]{19})@/.exec(field ?? '')?.[1]
  return hex === undefined ? null : idOfHex(hex)
}

/** Returns one result for each signature. */
async function verifySignatures(raw: Buffer, lookUp: KeyLookup): Promise<DkimResult[]> {
  const { dkimVerify } = await import('mailauth/lib/dkim/verify.js')
  try {
    const { results } = await dkimVerify(raw, {
      strict: true,
      resolver: lookUp,
    })
    return results
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
  }
}
