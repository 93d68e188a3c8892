import { gzipSync } from 'node:zlib'
import { assert } from 'chai'
import fc from 'fast-check'
import {
  gzipJson,
  SIGNER_DKIM_RECORD,
  signMessage,
  tlsReportMessageOf,
  tlsReportOf,
} from '#test/support/tls-report-mail.ts'
import type { ResolveDns } from './report-signer.ts'
import { parseTlsReportMail } from './tls-report-parser.ts'

const REPORT = tlsReportOf({ domain: 'bounces.mta.sender.example' })
const content = gzipJson(REPORT)
const dns: ResolveDns = (name) => {
  if (name === 's1._domainkey.receiver.example' || name === 's1._domainkey.evil.example')
    return Promise.resolve([[SIGNER_DKIM_RECORD]])
  const code = name.includes('unavailable') ? 'ESERVFAIL' : 'ENOTFOUND'
  return Promise.reject(Object.assign(new Error(code), { code }))
}
const read = async (raw: Buffer): Promise<string> => {
  const reading = await parseTlsReportMail(raw, dns)
  if (reading.kind === 'report') return `by ${reading.signer === '' ? 'anybody' : reading.signer}`
  return reading.kind === 'none' ? `none: ${reading.why}` : 'later'
}
const mail = tlsReportMessageOf({ content })
const change = (raw: Buffer): Buffer => Buffer.from(raw.toString('latin1').replace('aggregate', 'AGGREGATE'), 'latin1')

describe('TLS report parser', () => {
  const ROWS: readonly (readonly [what: string, raw: () => Buffer | Promise<Buffer>, reading: string | RegExp])[] = [
    ['posted with gzip', () => content, 'by anybody'],
    ['posted as JSON', () => Buffer.from(JSON.stringify(REPORT)), 'by anybody'],
    ['mailed without a signature', () => mail, 'by anybody'],
    [
      'mailed as JSON',
      () => tlsReportMessageOf({ content: Buffer.from(JSON.stringify(REPORT)), type: 'application/tlsrpt+json' }),
      'by anybody',
    ],
    ['mailed and signed by its sender', () => signMessage(mail), 'by receiver.example'],
    [
      "signed by its sender's organisation",
      () => signMessage(tlsReportMessageOf({ content, from: 'x@mail.receiver.example' })),
      'by receiver.example',
    ],
    ['signed by another', () => signMessage(mail, 'evil.example'), 'by anybody'],
    ['changed after signing', async () => change(await signMessage(mail)), 'by anybody'],
    ['with a signature over the beginning only', () => signMessage(mail, 'receiver.example', 10), 'by anybody'],
    ['signed with a key that does not exist in DNS', () => signMessage(mail, 'gone.receiver.example'), 'by anybody'],
    ['signed with a key while DNS fails', () => signMessage(mail, 'unavailable.receiver.example'), 'later'],
    [
      'with two From fields',
      () => signMessage(Buffer.concat([Buffer.from('From: <a@evil.example>\r\n'), mail])),
      'by anybody',
    ],
    [
      'with very many signatures',
      async () => Buffer.concat([Buffer.from('DKIM-Signature: v=1\r\n'.repeat(6)), await signMessage(mail)]),
      'by anybody',
    ],
    [
      'a mail without a report',
      () => Buffer.from('From: a@b.example\r\n\r\nHello\r\n'),
      'none: the mail has no TLS report part',
    ],
    ['an empty mail', () => Buffer.alloc(0), 'none: the mail has no TLS report part'],
    [
      'a gzip bomb',
      () => gzipSync(Buffer.alloc(64 * 1024 * 1024)),
      'none: decompression failed, or the report is too large',
    ],
    [
      'a gzip bomb by mail',
      () => tlsReportMessageOf({ content: gzipSync(Buffer.alloc(64 * 1024 * 1024)) }),
      'none: decompression failed, or the report is too large',
    ],
    [
      'truncated gzip',
      () => content.subarray(0, content.length / 2),
      'none: decompression failed, or the report is too large',
    ],
    ['invalid JSON', () => Buffer.from('{nothing'), 'none: it is not JSON'],
    ['deeply nested JSON', () => Buffer.from(`{"a":${'['.repeat(500_000)}`), 'none: it is not JSON'],
    ['JSON that is not a report', () => Buffer.from('{}'), /none: organization-name: /],
    ['a report without policies', () => Buffer.from(JSON.stringify({ ...REPORT, policies: [] })), /none: policies: /],
    [
      'negative counts',
      () => Buffer.from(JSON.stringify(tlsReportOf({ domain: 'x', failures: -1 }))),
      /none: policies\.0\.summary/,
    ],
    [
      '__proto__',
      () => Buffer.from('{"__proto__": {"organization-name": "x"}, "constructor": 1}'),
      /none: organization-name: /,
    ],
  ]
  for (const [what, raw, reading] of ROWS) {
    it(`${what}: ${String(reading)}`, async () => {
      const result = await read(await raw())
      if (typeof reading === 'string') assert.strictEqual(result, reading)
      else assert.match(result, reading)
    })
  }

  it('parses all fields of RFC 8460', async () => {
    const reading = await parseTlsReportMail(content, dns)
    assert.ok(reading.kind === 'report')
    assert.containsSubset(reading.report, {
      organization: 'Receiver Inc.',
      reportId: 'day-1',
      contact: 'smtp-tls-reporting@receiver.example',
      beginsAt: new Date('2026-04-01T00:00:00Z'),
      policies: [
        {
          domain: 'bounces.mta.sender.example',
          type: 'sts',
          lines: ['version: STSv1', 'mode: testing'],
          mx: ['*.sender.example'],
          successes: 5326,
          failures: 3,
          details: [
            {
              result: 'certificate-expired',
              count: 3,
              sendingIp: '2001:db8::1',
              mxHost: 'mx1.sender.example',
              mxHelo: null,
              mxIp: null,
              reason: 'X509_V_ERR_CERT_HAS_EXPIRED',
              more: null,
            },
          ],
        },
      ],
    })
    assert.deepNestedInclude(reading.report, { 'policies[0].lines': ['version: STSv1', 'mode: testing'] })
  })
  it('limits the size and removes control characters', async () => {
    const [policy] = REPORT['policies'] as object[]
    const policies = Array.from({ length: 3000 }, () => policy)
    const odd = { ...REPORT, 'organization-name': `\u001b[2J\0${'x'.repeat(10_000)}\ud800`, policies }
    const reading = await parseTlsReportMail(gzipJson(odd), dns)
    assert.ok(reading.kind === 'report')
    assert.deepEqual([reading.report.policies.length, reading.report.organization.length], [50, 255])
    assert.match(reading.report.organization, /^\?\[2J\?x+$/)
  })
  it('returns a result for any bytes and never throws', async () => {
    const leads = fc.constantFrom('', '{', '\u001f\u008b', 'From: a@b.c\nDKIM-Signature: ')
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), leads, async (octets, lead) => {
        await parseTlsReportMail(Buffer.concat([Buffer.from(lead, 'latin1'), octets]), dns)
      }),
      { numRuns: 200 },
    )
  })
})
