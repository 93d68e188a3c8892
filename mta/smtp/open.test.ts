import { assert } from 'chai'
import { runDialog } from '#test/support/smtp-dialogs.ts'
import { OPENING_DIALOGS } from './open.test-data.ts'
import { NO_CAPABILITIES, readCapabilities } from './open.ts'
import type { Capabilities } from './result.ts'

describe('opening a session: dialogs', () => {
  for (const dialog of OPENING_DIALOGS) it(`${dialog.n}. ${dialog.title}`, () => runDialog(dialog))
})

const OFFERS: readonly (readonly [lines: readonly string[], offered: Partial<Capabilities>])[] = [
  [['250 mx.test'], {}],
  [['250-PIPELINING', '250 ok'], {}],
  [
    [
      '250-mx.test',
      '250-PIPELINING',
      '250-STARTTLS',
      '250-8BITMIME',
      '250-SMTPUTF8',
      '250-ENHANCEDSTATUSCODES',
      '250 SIZE 35882577',
    ],
    {
      pipelining: true,
      starttls: true,
      eightBitMime: true,
      smtputf8: true,
      enhancedStatusCodes: true,
      size: 35_882_577,
    },
  ],
  [['250-mx.test', '250-pipelining', '250 StartTLS '], { pipelining: true, starttls: true }],
  [['250-mx.test', '250-AUTH=LOGIN', '250 AUTH plain Login'], { auth: ['LOGIN', 'PLAIN'] }],
  [['250-mx.test', '250 AUTH=LOGIN PLAIN'], { auth: ['LOGIN', 'PLAIN'] }],
  [['250-mx.test', '250 SIZE'], { size: 0 }],
  [['250-mx.test', '250 SIZE 0'], { size: 0 }],
  [['250-mx.test', '250 SIZE many'], { size: 0 }],
  [['250-mx.test', '250 SIZE -1'], { size: 0 }],
  [['250-mx.test', '250-XPIPELINING', '250-PIPELINING2', '250'], {}],
]

describe('capabilities', () => {
  for (const [lines, offered] of OFFERS)
    it(`of ${JSON.stringify(lines)}`, () => {
      assert.deepEqual(readCapabilities({ code: 250, enhanced: null, text: '', lines }), {
        ...NO_CAPABILITIES,
        ...offered,
      })
    })
})
