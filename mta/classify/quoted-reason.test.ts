import { assert } from 'chai'
import { dsnOf } from '#test/support/reports.ts'
import { parseReport } from './report.ts'
import { findQuotedReason } from './quoted-reason.ts'

const CASES: readonly (readonly [what: string, entry: string | null, notice: string, reason: string | null])[] = [
  ['nothing', null, '', null],
  ['the reply of a server', 'ann@b.example\n host mx said: 550 5.1.1 no\n more', '', 'host mx said: 550 5.1.1 no'],
  [
    "sendmail's reason",
    "<ann@b.example>\n    (reason: can't create (user) output file)\n\n   ----- Transcript -----\n",
    '',
    "can't create (user) output file",
  ],
  [
    'the transcript, if the reason is empty',
    '<ann@b.example>\n    (reason: )\n\n   ----- Transcript of session follows -----\nann... Deferred: refused\n',
    '',
    'ann... Deferred: refused',
  ],
  [
    "Exim's words below the origin",
    '  ann@b.example\n    (generated from x@b.example)\n    Unrouteable address',
    '',
    'Unrouteable address',
  ],
  [
    'words on the line of the address',
    '<ann@b.example>: mail for b.example\n    loops back to myself',
    '',
    'mail for b.example loops back to myself',
  ],
  ['words below a heading', 'ann@b.example\n\nbecause:\n\nUser not listed', '', 'User not listed'],
  ['words of the notice above the address', 'ann@b.example\n', 'User unknown here\nann@b.example', 'User unknown here'],
  ['a notice without an entry', null, 'Hello.\n\nThe user\nis unknown.', 'The user is unknown.'],
  ['a notice without a reason', null, 'Hello.\n\nGoodbye.', null],
]

describe('the reason that a notice gives to a person', () => {
  for (const [what, entry, notice, reason] of CASES) {
    it(`${what}: ${reason ?? 'none'}`, () => {
      const isReason = (text: string): boolean => /unknown/.test(text)
      assert.strictEqual(findQuotedReason({ address: 'ann@b.example', entry, notice }, isReason), reason)
    })
  }

  const DSN = dsnOf({ recipient: 'ann@b.example' })
  const QUOTED: readonly (readonly [what: string, diagnostic: string, reason: string])[] = [
    ['the exit status of a program', 'X-Unix; 73', "can't create (user) output file"],
    ['nothing', '', "can't create (user) output file"],
    ['an explained exit status', 'X-Unix; 73, disk is full', '73, disk is full'],
    ['a reply', 'smtp; 550 5.1.1 unknown', '550 5.1.1 unknown'],
  ]
  for (const [what, diagnostic, reason] of QUOTED) {
    it(`quotes ${reason} for a diagnostic with ${what}`, () => {
      const text = "<ann@b.example>\r\n    (reason: can't create (user) output file)"
      const raw = DSN.replace('This is the mail system at host mx.receiver.example.', text).replace(
        /Diagnostic-Code: .*/,
        `Diagnostic-Code: ${diagnostic}`,
      )
      assert.strictEqual(parseReport(Buffer.from(raw)).recipients[0]?.diagnostic, reason)
    })
  }
})
