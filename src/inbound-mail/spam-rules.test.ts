import { assert } from 'chai'
import { readFile } from 'node:fs/promises'
import type { Authentication } from './received-content.ts'
import { judgeSpam, SPAM_RULES, type JudgedMail } from './spam-rules.ts'

const PASS: Authentication = {
  spf: { result: 'pass', domain: 'a.example' },
  dkim: [{ result: 'pass', domain: 'a.example', selector: 's', is_aligned: true }],
  dmarc: { result: 'pass', domain: 'a.example', policy: 'reject' },
  arc: { result: 'none', domain: null },
}
const PARTS: JudgedMail['parts'] = {
  from: { address: 'ann@a.example', name: null },
  date: '2026-01-01T00:00:00.000Z',
  header_message_id: '<1@a.example>',
  subject: 'Hello',
  headers: [{ name: 'From', value: 'ann@a.example' }],
}
const GOOD: JudgedMail = { authentication: PASS, parts: PARTS, filenames: ['report.pdf', null], filter: null }

const failing = (policy: string, spf = 'fail'): Authentication => ({
  ...PASS,
  spf: { result: spf, domain: 'a.example' },
  dkim: [],
  dmarc: { result: 'fail', domain: 'a.example', policy },
})

describe('the spam verdict', () => {
  const CASES: readonly [what: string, mail: Partial<JudgedMail>, verdict: string, reasons: string][] = [
    ['authenticated mail', {}, 'clean', ''],
    [
      'what the filter calls spam',
      { filter: { name: 'rspamd', verdict: 'spam', score: 16, threshold: 15, symbols: ['GTUBE'] } },
      'spam',
      'spam-filter',
    ],
    [
      'a filter that does not answer',
      { filter: { name: 'spamassassin', verdict: 'unknown', score: null, threshold: null, symbols: [] } },
      'clean',
      '',
    ],
    ['a forged sender', { authentication: failing('reject', 'none') }, 'spam', 'dmarc-reject no-authentication'],
    [
      'a forwarded mail with its signature',
      { authentication: { ...PASS, spf: { result: 'fail', domain: null } } },
      'clean',
      '',
    ],
    [
      'a failure under quarantine',
      { authentication: failing('quarantine', 'none') },
      'suspicious',
      'dmarc-quarantine no-authentication',
    ],
    ['a failure under none', { authentication: failing('none', 'none') }, 'clean', 'dmarc-fail no-authentication'],
    ['the wrong server', { authentication: failing('none') }, 'suspicious', 'dmarc-fail spf-fail no-authentication'],
    ['a program', { filenames: ['invoice.pdf.EXE'] }, 'suspicious', 'executable-attachment'],
    [
      'two From fields',
      { parts: { ...PARTS, headers: [...PARTS.headers, { name: 'FROM', value: 'b@b.example' }] } },
      'suspicious',
      'several-from',
    ],
    [
      'no headers',
      { parts: { ...PARTS, from: null, date: null, header_message_id: null } },
      'suspicious',
      'no-from no-date no-message-id',
    ],
  ]
  for (const [what, mail, verdict, reasons] of CASES)
    it(`${what}: ${verdict}`, () => {
      const judged = judgeSpam({ ...GOOD, ...mail })
      assert.deepEqual([judged.verdict, judged.reasons.join(' ')], [verdict, reasons])
    })

  it('has every rule in the guide, with its score', async () => {
    const guide = await readFile(new URL('../../docs/guides/inbound-mail.md', import.meta.url), 'utf8')
    for (const { name, score, meaning } of SPAM_RULES) assert.include(guide, `| \`${name}\` | ${score} | ${meaning} |`)
  })
})
