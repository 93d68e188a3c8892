import assert from 'node:assert/strict'
import { limitsOf, reservedForInstant } from './site-limits.ts'

const CASES: readonly [hosts: readonly string[], connections: number, messages: number][] = [
  [['mx.example.com'], 10, 100],
  [[], 10, 100],
  [['gmail-smtp-in.l.google.com', 'alt1.gmail-smtp-in.l.google.com'], 5, 50],
  [['aspmx.l.google.com', 'alt3.aspmx.l.google.com'], 5, 50],
  [['mta5.am0.yahoodns.net'], 10, 20],
  [['example-com.mail.protection.outlook.com'], 5, 50],
  [['mx01.mail.icloud.com'], 10, 5],
  [['smtp-in.orange.fr'], 2, 100],
  [['mx00.gmx.net'], 4, 20],
  [['notgoogle.com', 'google.com.evil.example'], 10, 100],
  // the strictest of several
  [['aspmx.l.google.com', 'mx01.mail.icloud.com'], 5, 5],
]

describe('what a site is asked to take', () => {
  for (const [hosts, connections, messagesPerConnection] of CASES)
    it(hosts.join(', ') || 'unknown hosts', () => {
      const limits = limitsOf(hosts.map((name) => ({ name, isOurs: false })))
      assert.deepEqual([limits.connections, limits.messagesPerConnection], [connections, messagesPerConnection])
    })
  it('more for the operator\'s own next hop', () => {
    assert.ok(limitsOf([{ name: 'relay.example', isOurs: true }]).connections > 10)
  })
  it('keeps something for instant mail wherever there is something to keep', () => {
    for (let connections = 1; connections <= 100; connections++) {
      const reserved = reservedForInstant({ rule: 'any', connections, messagesPerConnection: 1 })
      assert.ok(reserved < connections && (connections === 1 || reserved >= 1))
    }
  })
})
