import { assert } from 'chai'
import type { DnsRecord } from '#dashboard/src/api/endpoints.ts'
import { groupRecords, toZoneFile } from './record-groups.ts'

const record = (fields: Partial<DnsRecord>): DnsRecord => ({
  type: 'TXT',
  name: 'example.com',
  value: 'v=spf1 ~all',
  priority: null,
  purpose: 'spf',
  description: '',
  required: false,
  status: 'ok',
  message: null,
  ...fields,
})

describe('records of a domain', () => {
  it('are grouped in the order of their use, without empty groups', () => {
    const groups = groupRecords([
      record({ purpose: 'spf' }),
      record({ purpose: 'mail_from', status: 'missing' }),
      record({ purpose: 'dkim' }),
      record({ purpose: 'mail_from' }),
    ])
    assert.deepEqual(
      groups.map(({ purpose, records, found }) => [purpose, records.length, found]),
      [
        ['dkim', 1, 1],
        ['mail_from', 2, 1],
        ['spf', 1, 1],
      ],
    )
  })

  const zones: readonly [name: string, record: DnsRecord, line: string][] = [
    ['TXT in quotes', record({}), 'example.com. 3600 IN TXT "v=spf1 ~all"'],
    ['quotes and backslashes', record({ value: 'a"b\\c' }), 'example.com. 3600 IN TXT "a\\"b\\\\c"'],
    [
      'MX with its preference',
      record({ type: 'MX', value: 'mx.example.net', priority: 20 }),
      'example.com. 3600 IN MX 20 mx.example.net.',
    ],
    ['CNAME', record({ type: 'CNAME', value: 'a.example.net' }), 'example.com. 3600 IN CNAME a.example.net.'],
    [
      'a long TXT in strings of 255',
      record({ value: 'x'.repeat(300) }),
      `example.com. 3600 IN TXT "${'x'.repeat(255)}" "${'x'.repeat(45)}"`,
    ],
  ]
  for (const [name, given, line] of zones)
    it(`become a zone file: ${name}`, () => assert.strictEqual(toZoneFile([given]), line))
})
