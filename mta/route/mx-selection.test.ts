import { assert } from 'chai'
import * as fc from 'fast-check'
import { selectMxHosts, type MxSelection } from './route.ts'

const SELF = 'mail.us.example'

type Given = readonly (readonly [preference: number, exchange: string])[]

function select(given: Given, random: () => number = () => 0): MxSelection {
  return selectMxHosts(
    given.map(([priority, exchange]) => ({ priority, exchange })),
    SELF,
    random,
  )
}

const HOSTS: readonly (readonly [rule: string, given: Given, expected: readonly string[]])[] = [
  [
    'lowest preference first',
    [
      [20, 'b.example'],
      [10, 'a.example'],
      [5, 'c.example'],
    ],
    ['c.example', 'a.example', 'b.example'],
  ],
  ['names in lower case, without a final dot', [[10, 'MX.Example.']], ['mx.example']],
  [
    'preferences 0 and 65535 are numbers like others',
    [
      [65535, 'b.example'],
      [0, 'a.example'],
    ],
    ['a.example', 'b.example'],
  ],
  [
    'a null MX among others is ignored',
    [
      [0, ''],
      [10, 'a.example'],
    ],
    ['a.example'],
  ],
  [
    'an IP address is skipped',
    [
      [5, '192.0.2.1'],
      [6, '2001:db8::1'],
      [10, 'a.example'],
    ],
    ['a.example'],
  ],
  [
    'localhost is skipped',
    [
      [5, 'localhost'],
      [6, 'mx.localhost'],
      [7, 'localhost.localdomain'],
      [10, 'a.example'],
    ],
    ['a.example'],
  ],
  [
    'what is no host name is skipped',
    [
      [5, 'a b\\010.example'],
      [6, '-a.example'],
      [7, `${'x'.repeat(64)}.example`],
      [8, 'a..example'],
      [10, 'a_1.example'],
    ],
    ['a_1.example'],
  ],
  [
    'a name listed twice is tried once, at its better place',
    [
      [20, 'a.example'],
      [10, 'b.example'],
      [5, 'a.example'],
    ],
    ['a.example', 'b.example'],
  ],
  [
    'our own name drops itself and all that are not better',
    [
      [5, 'a.example'],
      [10, 'MAIL.us.example'],
      [10, 'b.example'],
      [20, 'c.example'],
    ],
    ['a.example'],
  ],
  [
    'a name that only looks like ours does not',
    [
      [10, 'mail.us.example.net'],
      [20, 'xmail.us.example'],
    ],
    ['mail.us.example.net', 'xmail.us.example'],
  ],
]

const ENDS: readonly (readonly [rule: string, given: Given, expected: MxSelection['kind']])[] = [
  ['one null MX', [[0, '']], 'null-mx'],
  ['null MX written with another preference', [[10, '']], 'null-mx'],
  [
    'several null MX',
    [
      [0, ''],
      [10, ''],
    ],
    'null-mx',
  ],
  ['null MX as a dot', [[0, '.']], 'null-mx'],
  [
    'only IP addresses and localhost',
    [
      [10, '127.0.0.1'],
      [20, 'localhost'],
    ],
    'unusable',
  ],
  [
    'we are the best',
    [
      [10, SELF],
      [20, 'b.example'],
    ],
    'loop',
  ],
  ['we are the only one', [[10, SELF]], 'loop'],
]

describe('MX hosts', () => {
  for (const [rule, given, expected] of HOSTS) {
    it(rule, () => {
      const verdict = select(given)
      assert.deepEqual(verdict.kind === 'hosts' ? verdict.hosts.map(({ name }) => name) : verdict.kind, expected)
    })
  }

  for (const [rule, given, expected] of ENDS) {
    it(`${rule}: ${expected}`, () => assert.strictEqual(select(given).kind, expected))
  }

  it('gives the reason for each skipped name', () => {
    const verdict = select([
      [10, '192.0.2.1'],
      [20, 'localhost'],
      [30, '*'],
    ])
    assert.deepEqual(verdict, {
      kind: 'unusable',
      skipped: [
        '"192.0.2.1" is an IP address, not a name',
        '"localhost" is the local machine',
        '"*" is not a host name',
      ],
    })
  })

  it('tries at most the best 20 hosts, and uses all names for the site', () => {
    const verdict = select(Array.from({ length: 500 }, (_, i) => [500 - i, `mx${500 - i}.example`] as const))
    assert.ok(verdict.kind === 'hosts')
    assert.deepEqual(
      verdict.hosts.map(({ preference }) => preference),
      Array.from({ length: 20 }, (_, i) => i + 1),
    )
    assert.strictEqual(verdict.names.length, 500)
  })

  it('shuffles hosts of one preference, and never across preferences', () => {
    const firsts = new Set<string>()
    for (let i = 0; i < 200; i++) {
      const verdict = select(
        [
          [10, 'a.example'],
          [10, 'b.example'],
          [10, 'c.example'],
          [20, 'd.example'],
        ],
        Math.random,
      )
      assert.ok(verdict.kind === 'hosts')
      assert.strictEqual(verdict.hosts[3]?.name, 'd.example')
      firsts.add(verdict.hosts[0]?.name ?? '')
    }
    assert.deepEqual([...firsts].toSorted(), ['a.example', 'b.example', 'c.example'])
  })

  it('returns hosts in order of preference, each once, for any records', () => {
    const record = fc.record({
      priority: fc.nat(65_535),
      exchange: fc.oneof(fc.domain(), fc.ipV4(), fc.string(), fc.constant('')),
    })
    fc.assert(
      fc.property(fc.array(record), (records) => {
        const verdict = selectMxHosts(records, SELF, Math.random)
        const hosts = verdict.kind === 'hosts' ? verdict.hosts : []
        assert.deepEqual(
          hosts,
          hosts.toSorted((a, b) => a.preference - b.preference),
        )
        assert.strictEqual(new Set(hosts.map(({ name }) => name)).size, hosts.length)
        assert.strictEqual(verdict.kind === 'hosts', hosts.length > 0)
      }),
    )
  })
})
