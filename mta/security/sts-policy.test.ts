import { assert } from 'chai'
import fc from 'fast-check'
import { isMxOf, readStsPolicy, readStsRecord } from './sts-policy.ts'

const RECORDS: readonly (readonly [records: string[], id: string | null])[] = [
  [['v=STSv1; id=20160831085700Z;'], '20160831085700Z'],
  [['v=STSv1;id=1'], '1'],
  [['v=STSv1; id=1; more=2'], '1'],
  [['v=spf1 -all', 'v=STSv1; id=1;'], '1'],
  [[], null],
  [['v=STSv1; id=1;', 'v=STSv1; id=2;'], null],
  [['v=STSv10; id=1;'], null],
  [['v=STSv1; id=1; id=2;'], null],
  [['v=STSv1; id=not-plain;'], null],
  [[`v=STSv1; id=${'a'.repeat(33)};`], null],
  [['v=STSv1'], null],
  [[' v=STSv1; id=1;'], null],
]

const POLICY =
  'version: STSv1\nmode: enforce\nmx: mail.example.com\nmx: *.example.net\nmx: Backup.Example.com.\nmax_age: 604800\n'
const BROKEN: readonly (readonly [why: string, text: string, wrong: string])[] = [
  ['empty', '', 'the version is not STSv1'],
  ['a web page', '<html>not found</html>', 'the version is not STSv1'],
  ['another version', POLICY.replace('STSv1', 'STSv2'), 'the version is not STSv1'],
  ['no mode', POLICY.replace('mode: enforce\n', ''), 'the mode is missing or unknown'],
  ['a mode that nobody knows', POLICY.replace('enforce', 'strict'), 'the mode is missing or unknown'],
  ['no max_age', POLICY.replace(/max_age.*\n/, ''), 'max_age is missing or invalid'],
  ['a max_age below zero', POLICY.replace('604800', '-1'), 'max_age is missing or invalid'],
  ['no mx', POLICY.replaceAll(/mx:.*\n/g, ''), 'it lists no mx'],
  ['an mx that is no name', POLICY.replace('mail.example.com', 'mail example com'), 'an mx is not a host name'],
  ['a star in the middle', POLICY.replace('mail.example.com', 'mail.*.com'), 'an mx is not a host name'],
  ['a star alone', POLICY.replace('mail.example.com', '*'), 'an mx is not a host name'],
  ['a great many mx', POLICY + 'mx: mail.example.com\n'.repeat(200), 'it lists more than 200 hosts'],
]

describe('MTA-STS: the record', () => {
  for (const [records, id] of RECORDS)
    it(JSON.stringify(records).slice(0, 80), () => assert.strictEqual(readStsRecord(records), id))
})

describe('MTA-STS: the policy', () => {
  it('is read with any line ends, blank lines and unknown fields', () => {
    const expected = {
      mode: 'enforce',
      mx: ['mail.example.com', '*.example.net', 'backup.example.com'],
      maxAgeSeconds: 604_800,
    }
    assert.deepEqual(readStsPolicy(POLICY), expected)
    assert.deepEqual(readStsPolicy(`${POLICY.replaceAll('\n', '\r\n\r\n')}future: yes\r\n`), expected)
    assert.deepEqual(readStsPolicy(POLICY.replaceAll(': ', ':')), expected)
  })
  it('is valid for a year at most', () =>
    assert.deepInclude(readStsPolicy(POLICY.replace('604800', '9999999999')), { maxAgeSeconds: 31_557_600 }))
  it('of mode none needs no mx', () =>
    assert.deepEqual(readStsPolicy('version: STSv1\nmode: none\nmax_age: 86400'), {
      mode: 'none',
      mx: [],
      maxAgeSeconds: 86_400,
    }))
  it('uses the first of a repeated field', () =>
    assert.deepInclude(readStsPolicy(`${POLICY}mode: none\n`), { mode: 'enforce' }))
  for (const [why, text, problem] of BROKEN)
    it(`is invalid: ${why}`, () => assert.deepEqual(readStsPolicy(text), { problem }))
  it('is read or refused, whatever the bytes, and contains host names only', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), (text, hosts) => {
        const read = readStsPolicy(
          `version: STSv1\nmode: enforce\nmax_age: 1\n${hosts.map((host) => `mx: ${host}\n`).join('')}${text}`,
        )
        if (!('problem' in read)) for (const mx of read.mx) assert.match(mx, /^[a-z0-9_.*-]+$/)
      }),
    )
  })
})

const HOSTS: readonly (readonly [pattern: string, host: string, isMx: boolean])[] = [
  ['mail.example.com', 'mail.example.com', true],
  ['mail.example.com', 'MAIL.example.com.', true],
  ['mail.example.com', 'evil.example.com', false],
  ['*.example.com', 'mx1.example.com', true],
  ['*.example.com', 'a.mx1.example.com', false],
  ['*.example.com', 'example.com', false],
  ['*.example.com', 'mx1.evilexample.com', false],
  ['*.example.com', 'com', false],
]

describe('MTA-STS: the hosts that a policy allows', () => {
  for (const [pattern, host, isMx] of HOSTS)
    it(`${pattern} ${isMx ? 'is' : 'is not'} ${host}`, () => assert.strictEqual(isMxOf({ mx: [pattern] }, host), isMx))
})
