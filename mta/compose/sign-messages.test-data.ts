/**
 * The letters that a signature has to hold on, for every judge: what we write ourselves, and what
 * others may hand in, down to the bodies on which canonicalizers are known to disagree.
 */
import { generateDkimKeys } from '#src/domains/dkim-key.ts'
import type { Draft } from '#src/mime/draft.ts'
import type { DkimKey } from './sign.ts'

export const AT = new Date('2026-01-02T03:04:05.678Z')
const DATE = 'Date: Fri, 02 Jan 2026 03:04:05 +0000'
export const draft: Draft = {
  messageId: '0190a6f0-1111-7222-8333-444455556666',
  createdAt: AT,
  from: { email: 'ann@example.com', name: 'Ann' },
  replyTo: null,
  to: [{ email: 'bob@example.org', name: null }],
  cc: [],
  subject: 'Hello',
  html: null,
  text: 'Hi Bob\n',
  headers: [],
  attachments: [],
  raw: null,
}
export const [rsa, ed25519] = await generateDkimKeys()
export const key = ({ algorithm, privateKey }: typeof rsa): DkimKey => ({
  keyId: algorithm,
  domain: 'example.com',
  selector: algorithm.slice(0, 3),
  algorithm,
  privateKey,
})
export const KEYS = [key(rsa), key(ed25519)]
/** What DNS says. */
export const RECORDS: Readonly<Record<string, string>> = {
  'rsa._domainkey.example.com': rsa.dnsValue,
  'ed2._domainkey.example.com': ed25519.dnsValue,
}

const rawMessage = (header: readonly string[], body = 'x\r\n'): Draft => ({
  ...draft,
  raw: Buffer.from(`${header.join('\r\n')}\r\n\r\n${body}`, 'latin1'),
})
const raw = (body: string): Draft => rawMessage(['From: Ann <ann@example.com>', DATE, 'Subject: Hello'], body)
const file = { filename: 'ü.bin', contentType: 'application/x', contentId: null, content: Buffer.alloc(5000, 7) }
const crowd = Array.from({ length: 200 }, (_, i) => ({ email: `r${i}@example.org`, name: `Nr. ${i}` }))
const list: Draft['headers'] = [
  ['List-Unsubscribe', '<https://example.com/u?t=1>'],
  ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
  ['List-Id', 'x <l.example.com>'],
]

/**
 * `isIllegal`: no server should have sent it (RFC 5321 §2.3.8, RFC 5322 §3.6); some verifiers do not read such mail
 * at all.
 */
export const letters: readonly [what: string, draft: Draft, isIllegal?: true][] = [
  ['plain text', draft],
  ['HTML', { ...draft, text: null, html: '<p>Grüße 😀</p>\n' }],
  [
    'UTF-8 in the header',
    { ...draft, subject: 'Grüße 😀 '.repeat(20), from: { email: 'ann@example.com', name: 'Änn, Boss' } },
  ],
  ['an attachment', { ...draft, attachments: [file] }],
  ['200 recipients', { ...draft, to: crowd }],
  ['a UTF-8 address', { ...draft, to: [{ email: 'ü@bücher.de', name: null }] }],
  ['list fields', { ...draft, headers: list }],
  ['an empty body', { ...draft, text: null }],
  ['a raw empty body', raw('')],
  ['only line ends', raw('\r\n\r\n\r\n')],
  ['no last line end', raw('abc')],
  ['a space at the very end', raw('abc ')],
  ['spaces and tabs', raw('a  b\t\tc \t\r\n \r\n\t\r\n  d\r\n   \r\n')],
  ['lines of spaces only', raw('  \r\n\t\r\n')],
  ['NBSP and Latin-1', raw('a\u00a0b \u00a0\r\nGr\u00fc\u00dfe\u00a0\r\n\u00a0\r\n')],
  ['form feed and vertical tab', raw('a\fb \f\r\n\v\r\n')],
  ['bare CR', raw('a\rb \r c\r\r\n\r'), true],
  ['NUL', raw('a\0b\r\n')],
  ['100 KB of blank lines', raw('\r\n'.repeat(50_000))],
  ['100 KB of blank lines, then a word', raw(`${'\r\n'.repeat(50_000)}x\r\n`)],
  ['10 KB of spaces', raw(`a${' '.repeat(10_000)}b\r\n`)], // more would be a test of dkimpy's patience
  ['very long lines', raw(`${'x'.repeat(100_000)}\r\n${'y '.repeat(50_000)}`)],
  ['dots at line starts', raw('.\r\n..\r\n.a\r\n')],
  [
    'Latin-1 in the header',
    rawMessage(['From: \u00c4nn\u00a0 <ann@example.com>', DATE, 'Subject: \u00a0\u00fc\u00a0']),
  ],
  ['odd folds', rawMessage(['FROM \t:\t ann@example.com', DATE, 'Subject:', ' a', '\t b  ']), true],
  ['a name apart from its colon', rawMessage(['From: ann@example.com', 'To', ' : y']), true],
  [
    'fields that come twice',
    rawMessage(['From: a@example.com', 'To: a@b.co', 'To: c@d.ef', 'Subject: 1', 'Subject: 2']),
    true,
  ],
  ['no header but From', rawMessage(['From: a@example.com']), true],
]
