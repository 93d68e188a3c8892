import { assert } from 'chai'
import type { ReceiverSuspension } from './receiver-suspensions.ts'
import { BASE } from './shaping-file.test-data.ts'
import { readShaping } from './shaping-file.ts'
import { findSuspensionAt, type MailSite } from './suspended-site.ts'

const GOOGLE = 'aspmx.l.google.com~0123456789abcdef'
const mail = (more: Partial<MailSite>): MailSite => ({
  workspaceId: 'w',
  domain: 'a.example',
  site: 'mx.a.example',
  host: null,
  source: null,
  ...more,
})
const suspension = (pace: string, more: Partial<ReceiverSuspension> = {}): ReceiverSuspension => ({
  pace,
  source: 'default',
  workspaceId: null,
  rule: 'r',
  reply: '421 later',
  until: new Date(),
  createdAt: new Date(),
  ...more,
})

describe('the suspension of a site', () => {
  const read = readShaping(BASE)
  const CASES: readonly (readonly [string, ReceiverSuspension, Partial<MailSite>, boolean])[] = [
    ['of a provider, by the site', suspension('google'), { site: GOOGLE }, true],
    ['of a provider, by the domain', suspension('google'), { domain: 'gmail.com', site: null }, true],
    [
      'of a provider, by the host of the last attempt',
      suspension('google'),
      { site: null, host: 'x.google.com' },
      true,
    ],
    ['of another provider', suspension('yahoo'), { site: GOOGLE }, false],
    ['of one site', suspension('default/mx.a.example'), {}, true],
    ['of another site', suspension('default/mx.b.example'), {}, false],
    ['of a site that is not known yet', suspension('default/mx.a.example'), { site: null }, false],
    ['of a host of the transport map', suspension('transport-map/route:x:25'), { site: 'route:x:25' }, true],
    ['of its workspace', suspension('google', { source: '*', workspaceId: 'w' }), { site: GOOGLE }, true],
    ['of another workspace', suspension('google', { source: '*', workspaceId: 'v' }), { site: GOOGLE }, false],
    ['of the source of its last attempt', suspension('google', { source: 's' }), { site: GOOGLE, source: 's' }, true],
    ['of another source', suspension('google', { source: 's' }), { site: GOOGLE, source: 't' }, false],
  ]
  for (const [name, stop, of, isFound] of CASES)
    it(`${name}: ${isFound ? 'found' : 'not found'}`, () => {
      assert.ok(read.kind === 'shaping')
      assert.strictEqual(findSuspensionAt([stop], read.shaping, mail(of)), isFound ? stop : null)
    })
})
