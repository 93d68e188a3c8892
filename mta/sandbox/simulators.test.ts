import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import * as fc from 'fast-check'
import { simulate, SIMULATORS, type SimulatedAction } from './simulators.ts'
import { SIMULATED_DOMAINS } from './dns-zone.ts'

const ACCEPT: SimulatedAction = { kind: 'accept' }

const ROWS: readonly (readonly [address: string, action: SimulatedAction])[] = [
  ['ann@example.com', ACCEPT],
  ['bounce@example.com', { kind: 'reject', code: 550, text: '5.1.1 No such user (simulated)' }],
  ['bounce-5.1.1@example.com', { kind: 'reject', code: 550, text: '5.1.1 No such user (simulated)' }],
  ['Bounce-5.1.1+tag+more@Example.com', { kind: 'reject', code: 550, text: '5.1.1 No such user (simulated)' }],
  ['bounce-5.1.3@a.test', { kind: 'reject', code: 553, text: '5.1.3 Bad address syntax (simulated)' }],
  ['bounce-5.1.10@a.test', { kind: 'reject', code: 556, text: '5.1.10 The domain accepts no mail (simulated)' }],
  ['bounce-5.2.2@a.test', { kind: 'reject', code: 552, text: '5.2.2 The mailbox is full (simulated)' }],
  ['bounce-5.7.1@a.test', { kind: 'reject', code: 554, text: '5.7.1 Rejected by policy (simulated)' }],
  ['bounce-5.7.26@a.test', { kind: 'reject', code: 554, text: '5.7.26 Rejected for security or policy (simulated)' }],
  ['bounce-5.999.999@a.test', { kind: 'reject', code: 554, text: '5.999.999 Refused (simulated)' }],
  ['bounce-4.1.1@a.test', ACCEPT],
  ['bounce-5.1@a.test', ACCEPT],
  ['bounce-5.1.1000@a.test', ACCEPT],
  ['xbounce@a.test', ACCEPT],
  ['bounces@a.test', ACCEPT],
  ['defer@a.test', { kind: 'defer', times: Infinity }],
  ['defer-0@a.test', { kind: 'defer', times: 0 }],
  ['DEFER-3+x@a.test', { kind: 'defer', times: 3 }],
  ['defer-1000@a.test', ACCEPT],
  ['defer--1@a.test', ACCEPT],
  ['slow-5@a.test', { kind: 'delay', seconds: 5 }],
  ['slow-999@a.test', { kind: 'delay', seconds: 600 }],
  ['drop-after-dot@a.test', { kind: 'drop', isStored: false }],
  ['drop-after-keep@a.test', { kind: 'drop', isStored: true }],
  ['complaint@a.test', { kind: 'report', type: 'complaint', status: '', text: '' }],
  ['unsubscribe+x@a.test', { kind: 'report', type: 'opt-out', status: '', text: '' }],
  [
    'late-bounce@a.test',
    { kind: 'report', type: 'bounce', status: '5.1.1', text: '550 5.1.1 No such user (simulated)' },
  ],
  [
    'late-bounce-5.2.2@a.test',
    { kind: 'report', type: 'bounce', status: '5.2.2', text: '552 5.2.2 The mailbox is full (simulated)' },
  ],
  ['bounce', ACCEPT],
  ['"bounce@a"@a.test', ACCEPT],
  ['', ACCEPT],
]

describe('simulator addresses', () => {
  for (const [address, action] of ROWS) {
    it(address === '' ? 'an empty address' : address, () => assert.deepEqual(simulate(address), action))
  }

  it('have an action for every address, and reject only with a 5xx and its enhanced code', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.emailAddress(),
          fc.tuple(fc.nat(1200), fc.nat(1200)).map(([b, c]) => `bounce-5.${b}.${c}@a.test`),
        ),
        (address) => {
          const action = simulate(address)
          if (action.kind === 'reject')
            assert.match(`${action.code} ${action.text}`, /^55\d 5\.\d{1,3}\.\d{1,3} |^503 5\.5\./)
        },
      ),
    )
  })

  it('are documented, each with its sentence', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/guides/sandbox.md'), 'utf8')
    const rows = [
      ...SIMULATORS.map(({ address, description: does }) => `| \`${address}\` | ${does} |`),
      ...SIMULATED_DOMAINS.map(({ domain, description: does }) => `| \`${domain}\` | ${does} |`),
    ]
    assert.deepEqual(page.match(/^\| `.*@` \|.*|^\| `.*\.mailstead\.test` \|.*/gm), rows)
  })
})
