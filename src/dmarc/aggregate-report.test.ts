import { assert } from 'chai'
import fc from 'fast-check'
import { type AggregateReport, parseAggregateReport } from './aggregate-report.ts'
import { REPORT_SAMPLES } from './aggregate-report.test-data.ts'

const [SAMPLE] = REPORT_SAMPLES

function read(xml: string): AggregateReport {
  const parsed = parseAggregateReport(xml)
  return parsed.ok ? parsed.report : assert.fail(parsed.why)
}

function shown({ organization, reportId, policy, records, skipped }: AggregateReport): string[] {
  const word = (isPass: boolean): string => (isPass ? 'pass' : 'fail')
  return [
    `${organization} ${reportId} ${policy.p}`,
    ...records.map((one) =>
      [
        `${one.address} ${one.messages} ${one.disposition} ${word(one.isDkimAligned)} ${word(one.isSpfAligned)}`,
        ...(one.override === null ? [] : [one.override]),
      ].join(' '),
    ),
    ...(skipped > 0 ? [`skipped ${skipped}`] : []),
  ]
}

interface Fields {
  readonly orgName?: string
  readonly begin?: string
  readonly end?: string
  readonly domain?: string
  readonly records?: string
}

function record(address: string, count: number | string, from = 'shop.example'): string {
  return `<record><row><source_ip>${address}</source_ip><count>${count}</count><policy_evaluated><dkim>pass</dkim>
    </policy_evaluated></row><identifiers><header_from>${from}</header_from></identifiers></record>`
}

function xmlOf({
  orgName = 'R',
  begin = '1790000000',
  end = '1790086399',
  domain = 'shop.example',
  records = '',
}: Fields = {}): string {
  return `<feedback><report_metadata><org_name>${orgName}</org_name><report_id>1</report_id><date_range>
    <begin>${begin}</begin><end>${end}</end></date_range></report_metadata><policy_published><domain>${domain}</domain>
    <p>none</p></policy_published>${records}</feedback>`
}

const REJECTED: readonly (readonly [string, string, RegExp])[] = [
  ['not XML', 'hello', /no feedback element/],
  ['empty', '', /no feedback element/],
  ['another root', '<html><feedback></feedback></html>', /root element is not feedback/],
  ['two roots', `${xmlOf()}${xmlOf()}`, /root element is not feedback/],
  ['truncated', xmlOf().slice(0, -20), /truncated/],
  ['an external entity', `<!DOCTYPE f [<!ENTITY x SYSTEM "file:///etc/passwd">]>${xmlOf({ orgName: '&x;' })}`, /DTD/],
  [
    'a billion laughs',
    `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>${xmlOf({ orgName: '&b;' })}`,
    /DTD/,
  ],
  ['a DTD after the root', `<feedback><!DOCTYPE x></feedback>`, /DTD/],
  ['deep nesting', `<feedback>${'<a>'.repeat(5000)}${'</a>'.repeat(5000)}</feedback>`, /nested too deeply/],
  ['a gigantic record', `<feedback><record>${'<a/>'.repeat(2000)}</record></feedback>`, /too many elements/],
  ['no organisation', xmlOf({ orgName: ' ' }), /org_name/],
  ['no domain', xmlOf({ domain: 'localhost' }), /no domain/],
  ['times that are none', xmlOf({ begin: '2026-01-01' }), /date_range/],
  ['an end before the begin', xmlOf({ begin: '1790000000', end: '1780000000' }), /date_range/],
  ['a year', xmlOf({ begin: '1750000000' }), /date_range/],
  ['records that are none', xmlOf({ records: record('x', 1) + record('192.0.2.1', -1) }), /none of its records/],
  [
    'too many different records',
    xmlOf({
      records: Array.from({ length: 10_001 }, (_, i) => record(`10.0.${i >> 8}.${i & 255}`, 1)).join(''),
    }),
    /different records/,
  ],
  ['too many records', xmlOf({ records: record('192.0.2.1', 1).repeat(30_001) }), /more than 30000 records/],
]

describe('DMARC aggregate reports', () => {
  for (const { receiver, xml, expected } of REPORT_SAMPLES)
    it(`of ${receiver}`, () => {
      const report = read(xml)
      assert.deepEqual(shown(report), expected)
      assert.strictEqual(report.policy.domain, 'shop.example')
      assert.strictEqual(report.endsAt.getTime() - report.beginsAt.getTime(), 86_399_000)
    })

  it('say what passed of what is not aligned, and the policy', () => {
    const [google, microsoft, , , amazon] = REPORT_SAMPLES.map(({ xml }) => read(xml))
    assert.deepInclude(google?.records[0], { dkimDomain: 'shop.example', spfDomain: 'bounce.shop.example' })
    assert.deepInclude(microsoft?.records[0], { dkimDomain: 'crm.example', headerFrom: 'shop.example' })
    assert.deepInclude(amazon?.records[0], { dkimDomain: null, spfDomain: null, headerFrom: 'news.shop.example' })
    assert.deepInclude(amazon?.policy, { p: 'none', sp: 'reject', pct: 50 })
  })

  for (const [what, xml, why] of REJECTED)
    it(`are rejected: ${what}`, () => {
      const parsed = parseAggregateReport(xml)
      assert.isFalse(parsed.ok)
      if (!parsed.ok) assert.match(parsed.why, why)
    })

  it('count every record that is valid, whatever stands between', () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6())
    const anyRecord = fc.record({ address, count: fc.integer({ min: 1, max: 1e9 }), from: fc.domain() })
    fc.assert(
      fc.property(
        fc.array(anyRecord, { maxLength: 30 }),
        fc.array(fc.constantFrom('<x/>', '\n', '<!-- -->')),
        (all, noise) => {
          const records = all.map((one) => record(one.address, one.count, one.from) + noise.join(''))
          const report = read(xmlOf({ records: records.join('') }))
          const sum = (list: readonly number[]): number => list.reduce((total, n) => total + n, 0)
          assert.strictEqual(sum(report.records.map(({ messages }) => messages)), sum(all.map(({ count }) => count)))
          assert.strictEqual(report.skipped, 0)
        },
      ),
    )
  })

  it('never make the parser throw, and never leave the limits', () => {
    const xml = SAMPLE?.xml ?? assert.fail()
    const damaged = fc
      .tuple(fc.nat(xml.length), fc.nat(200), fc.oneof(fc.string(), fc.constantFrom('<', '>', '&', '<!', ']]>', '\0')))
      .map(([at, length, text]) => xml.slice(0, at) + text + xml.slice(at + length))
    fc.assert(
      fc.property(fc.oneof(fc.string(), damaged), (text) => {
        const parsed = parseAggregateReport(text)
        if (!parsed.ok) return
        const { organization, reportId, records } = parsed.report
        assert.isTrue(organization.length <= 255 && reportId.length <= 255)
        assert.isTrue(records.every(({ messages }) => Number.isSafeInteger(messages) && messages > 0))
        assert.notMatch(organization + reportId, /\p{Cc}/u)
      }),
    )
  })
})
